CREATE FUNCTION count_garbage(
    agent text,
    min_trust_threshold float8 DEFAULT 0.2,
    max_age_hours float8 DEFAULT 720,
    delete_threshold float8 DEFAULT 0.1,
    max_live bigint DEFAULT NULL,
    of_team boolean DEFAULT false
) RETURNS TABLE (scanned bigint, archived bigint, deleted bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
BEGIN
    IF of_team THEN
        RETURN QUERY
        SELECT numbers.scanned, numbers.chosen + CASE WHEN (max_live IS NULL) THEN 0 ELSE coalesce(greatest(((numbers.scanned - numbers.chosen) - numbers.deleted) - max_live, 0), 0) END AS archived, numbers.deleted
        FROM (SELECT count(*) AS scanned, count(*) FILTER (WHERE verdicts.verdict != 'delete') AS chosen, count(*) FILTER (WHERE verdicts.verdict = 'delete') AS deleted
        FROM (SELECT CASE WHEN (team_memories.trust < delete_threshold) THEN 'delete' WHEN (team_memories.expires_at <= now()) THEN 'expires_at' WHEN (team_memories.trust < min_trust_threshold) THEN 'min_trust_threshold' WHEN (team_memories.created_at < CAST(now() AS TIMESTAMP WITH TIME ZONE) - CAST(max_age_hours AS DOUBLE PRECISION) * interval '1 hour') THEN 'max_age_hours' END AS verdict
        FROM team_memories
        WHERE team_memories.team_id = owner_id AND team_memories.status != 'archived') AS verdicts) AS numbers;
    ELSE
        RETURN QUERY
        SELECT numbers.scanned, numbers.chosen + CASE WHEN (max_live IS NULL) THEN 0 ELSE coalesce(greatest(((numbers.scanned - numbers.chosen) - numbers.deleted) - max_live, 0), 0) END AS archived, numbers.deleted
        FROM (SELECT count(*) AS scanned, count(*) FILTER (WHERE verdicts.verdict != 'delete') AS chosen, count(*) FILTER (WHERE verdicts.verdict = 'delete') AS deleted
        FROM (SELECT CASE WHEN (agent_memories.trust < delete_threshold) THEN 'delete' WHEN (agent_memories.expires_at <= now()) THEN 'expires_at' WHEN (agent_memories.trust < min_trust_threshold) THEN 'min_trust_threshold' WHEN (agent_memories.created_at < CAST(now() AS TIMESTAMP WITH TIME ZONE) - CAST(max_age_hours AS DOUBLE PRECISION) * interval '1 hour') THEN 'max_age_hours' END AS verdict
        FROM agent_memories
        WHERE agent_memories.agent_id = owner_id AND agent_memories.status != 'archived') AS verdicts) AS numbers;
    END IF;
END
$operation$;

COMMENT ON FUNCTION count_garbage IS
    'What a garbage collection would do to the memories of an agent; changes nothing.';

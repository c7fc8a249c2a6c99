CREATE FUNCTION count_garbage(
    agent text,
    min_trust_threshold float8 DEFAULT 0.2,
    max_age_hours float8 DEFAULT 720,
    delete_threshold float8 DEFAULT 0.1,
    max_live bigint DEFAULT NULL
) RETURNS TABLE (scanned bigint, archived bigint, deleted bigint, swept bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (NOT (coalesce(min_trust_threshold, 0) BETWEEN 0 AND 1 AND coalesce(delete_threshold, 0) BETWEEN 0 AND 1 AND coalesce(max_age_hours, 0) BETWEEN 0 AND 8766000)) IS NOT FALSE THEN
        RAISE EXCEPTION 'thresholds lie within 0 and 1 and max_age_hours within 0 and 8766000, got %, % and %', min_trust_threshold, delete_threshold, max_age_hours
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (max_live < 0 IS TRUE) IS NOT FALSE THEN
        RAISE EXCEPTION 'max_live must not be negative, got %', max_live
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT numbers.scanned, numbers.chosen + CASE WHEN (max_live IS NULL) THEN 0 ELSE coalesce(greatest(((numbers.scanned - numbers.chosen) - numbers.deleted) - max_live, 0), 0) END AS archived, numbers.deleted, (SELECT count(*) AS count_1
    FROM memory_usage
    WHERE memory_usage.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_usage.agent_id AND agent_memories.id = memory_usage.memory_id))) + (SELECT count(*) AS count_2
    FROM memory_labels
    WHERE memory_labels.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_labels.agent_id AND agent_memories.id = memory_labels.memory_id))) + (SELECT count(*) AS count_3
    FROM memory_links
    WHERE memory_links.agent_id = owner_id AND (NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_links.agent_id AND agent_memories.id = memory_links.source_id)) OR NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_links.agent_id AND agent_memories.id = memory_links.target_id)))) AS swept
    FROM (SELECT count(*) AS scanned, count(*) FILTER (WHERE verdicts.verdict != 'delete') AS chosen, count(*) FILTER (WHERE verdicts.verdict = 'delete') AS deleted
    FROM (SELECT CASE WHEN (agent_memories.trust < delete_threshold) THEN 'delete' WHEN (agent_memories.expires_at <= now()) THEN 'expires_at' WHEN (agent_memories.trust < min_trust_threshold) THEN 'min_trust_threshold' WHEN (agent_memories.created_at < CAST(now() AS TIMESTAMP WITH TIME ZONE) - CAST(max_age_hours AS DOUBLE PRECISION) * interval '1 hour') THEN 'max_age_hours' END AS verdict
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.status != 'archived') AS verdicts) AS numbers;
END
$operation$;

COMMENT ON FUNCTION count_garbage IS
    'What a garbage collection would do to the memories of an agent; changes nothing.';

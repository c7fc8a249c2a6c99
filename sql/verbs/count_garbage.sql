-- For maintainers.
CREATE OR REPLACE FUNCTION count_garbage(
    agent text, min_trust_threshold float8 DEFAULT 0.2, max_age_hours float8 DEFAULT 720,
    delete_threshold float8 DEFAULT 0.1, max_live bigint DEFAULT NULL)
    RETURNS TABLE (scanned bigint, archived bigint, deleted bigint, swept bigint)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
DECLARE
    oldest timestamptz;
    excess bigint;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_garbage_policy(
        min_trust_threshold, max_age_hours, delete_threshold, max_live, 'default');
    oldest := now() - max_age_hours * interval '1 hour';
    SELECT count(*), count(*) FILTER (WHERE judged.rule <> 'delete'),
           count(*) FILTER (WHERE judged.rule = 'delete')
      INTO scanned, archived, deleted
      FROM (SELECT garbage_rule(m.trust, m.expires_at, m.created_at,
                                now(), min_trust_threshold, oldest, delete_threshold) AS rule
              FROM agent_memories m
             WHERE m.agent_id = agent AND m.status <> 'archived') judged;
    excess := scanned - archived - deleted - max_live;
    archived := archived + greatest(excess, 0);
    swept := (SELECT count(*) FROM memory_usage u
               WHERE u.agent_id = agent
                 AND NOT EXISTS (SELECT FROM agent_memories m
                                  WHERE m.agent_id = agent AND m.id = u.memory_id))
           + (SELECT count(*) FROM memory_labels l
               WHERE l.agent_id = agent
                 AND NOT EXISTS (SELECT FROM agent_memories m
                                  WHERE m.agent_id = agent AND m.id = l.memory_id))
           + (SELECT count(*) FROM memory_links l
               WHERE l.agent_id = agent
                 AND (NOT EXISTS (SELECT FROM agent_memories m
                                   WHERE m.agent_id = agent AND m.id = l.source_id)
                   OR NOT EXISTS (SELECT FROM agent_memories m
                                   WHERE m.agent_id = agent AND m.id = l.target_id)));
    RETURN NEXT;
END
$verb$;

COMMENT ON FUNCTION count_garbage IS
    'What a garbage collection would do to the memories of an owner, without doing it.';

-- For maintainers.
CREATE OR REPLACE FUNCTION archive_excess_batch(
    agent text, max_live bigint, policy text DEFAULT 'default', batch_size integer DEFAULT 1000,
    actor text DEFAULT session_user) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    least_trusted uuid[];
    locked uuid[];
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_garbage_policy(NULL, NULL, NULL, max_live, NULL, NULL, policy);
    PERFORM require_count('batch_size', batch_size, 1, @MAX_BATCH@);
    IF max_live IS NULL THEN
        RETURN 0;
    END IF;
    -- Counted and chosen in one statement: with two, another run could archive memories in between,
    -- and this one would archive as many again.
    least_trusted := ARRAY(
        SELECT m.id FROM agent_memories m
         WHERE m.agent_id = agent AND m.status <> 'archived'
         ORDER BY coalesce(m.trust, 0.5), m.created_at NULLS FIRST, m.id
         LIMIT greatest(0, least(batch_size, (
             SELECT count(*) - max_live FROM agent_memories m
              WHERE m.agent_id = agent AND m.status <> 'archived'))));
    locked := ARRAY(
        SELECT m.id FROM agent_memories m
         WHERE m.agent_id = agent AND m.id = ANY (least_trusted) AND m.status <> 'archived'
         ORDER BY m.id FOR NO KEY UPDATE);
    RETURN archive_memories(agent, locked, 'archived', '{"rule": "max_live"}',
                    'garbage collection by policy ' || policy, actor, '{}');
END
$verb$;

COMMENT ON FUNCTION archive_excess_batch IS
    'Does one batch of the garbage collection: archives the least trusted live memories beyond '
    'max_live; returns their number. Trust that was never assessed counts as 0.5.';

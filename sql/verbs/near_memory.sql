-- The search is exact: it compares every memory of the owner. A memory that this same write met
-- before comes first, so that a repeated write meets it again.
CREATE OR REPLACE FUNCTION near_memory(agent text, new agent_memories, threshold float8)
    RETURNS TABLE (memory_id uuid, similarity float8)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
BEGIN
    RETURN QUERY
    SELECT m.id, near.similarity FROM agent_memories m
     CROSS JOIN LATERAL (SELECT similarity(m.embedding, new.embedding, 0) AS similarity) near
     WHERE m.agent_id = agent AND m.status = 'active' AND m.embedding IS NOT NULL
       AND m.session IS NULL  -- a turn is known by its place
       AND is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment)
       AND near.similarity > threshold
     ORDER BY EXISTS (SELECT FROM memory_events e
                       WHERE e.agent_id = agent AND e.memory_id = m.id AND e.id = new.id) DESC,
              near.similarity DESC, m.id
     LIMIT 1;
END
$function$;

COMMENT ON FUNCTION near_memory IS
    'Returns the active, valid memory most similar to the new one, if it is more than threshold '
    'similar. Turns of sessions do not count.';

-- Citus runs this on the node of the owner, or on the coordinator in a caller's transaction. A
-- query about the owner takes its lock on the node of the owner in both cases.
CREATE OR REPLACE FUNCTION wait_for_writers(agent text, option text) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM require(current_setting('transaction_isolation') <> 'repeatable read', format(
        '%s cannot see what others store meanwhile in a transaction of isolation level REPEATABLE '
        'READ; use READ COMMITTED or SERIALIZABLE', option));
    PERFORM pg_advisory_xact_lock(hashtextextended('@extschema@.agent_memories ' || agent, 8741))
       FROM (SELECT count(*) FROM agent_memories m
              WHERE m.agent_id = agent AND m.id = '00000000-0000-0000-0000-000000000000') one_row;
END
$function$;

COMMENT ON FUNCTION wait_for_writers IS
    'Waits until no other transaction adds memories of this owner with near_duplicates or '
    'supersede_subject. The argument option names the one of the two that this call uses.';

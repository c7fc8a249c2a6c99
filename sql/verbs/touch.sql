-- The function only reads the memories: it takes no lock there and does not write their vectors
-- anew. It locks counters in the order of the key, so that touches that overlap never form a
-- circle.
CREATE OR REPLACE FUNCTION touch(
    agent text, memory_ids uuid[], accessed boolean DEFAULT true, durable boolean DEFAULT true)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    touched bigint;
BEGIN
    PERFORM require(accessed IS NOT NULL, 'accessed must be true or false, got NULL'),
            require(durable IS NOT NULL, 'durable must be true or false, got NULL');
    IF NOT durable THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    INSERT INTO memory_usage AS u (agent_id, memory_id, retrieval_count, last_accessed_at)
    SELECT m.agent_id, m.id, 1, CASE WHEN accessed THEN now() END FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
     ORDER BY m.id
        ON CONFLICT (agent_id, memory_id) DO UPDATE
       SET retrieval_count = u.retrieval_count + 1,
           last_accessed_at = greatest(u.last_accessed_at, excluded.last_accessed_at);
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF touched = 0 THEN  -- what is no owner's id has no memories
        PERFORM require_owner(agent);
    END IF;
    IF accessed THEN
        PERFORM log_usage(agent, memory_ids);
    END IF;
    RETURN touched;
END
$function$;

COMMENT ON FUNCTION touch IS
    'Counts one retrieval, now, of each of these memories that the owner has; returns their '
    'number. accessed => false leaves last_accessed_at alone. durable => false does not wait at '
    'commit until the transaction is on disk: a crash of the server may lose the last moments.';

-- It leaves events, which show a repetition. It is a function of its own, so that touch, which
-- searches call, keeps its signature.
CREATE OR REPLACE FUNCTION touch_once(agent text, memory_ids uuid[], key text) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    first uuid[];
    repeated bigint;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_key(touch_once.key);
    WITH noted AS (
        INSERT INTO memory_events (agent_id, memory_id, id, event_type, occurred_at)
        SELECT m.agent_id, m.id, id_of_key(agent, touch_once.key), 'retrieved', clock_timestamp()
          FROM agent_memories m WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
         ORDER BY m.id
            ON CONFLICT DO NOTHING RETURNING memory_events.memory_id)
    SELECT array_agg(n.memory_id), (SELECT count(*) FROM agent_memories m
                                     WHERE m.agent_id = agent AND m.id = ANY (memory_ids))
                                   - count(*)
      INTO first, repeated FROM noted n;
    RETURN repeated + touch(agent, first);
END
$function$;

COMMENT ON FUNCTION touch_once IS
    'Does what touch does, once for a key, the caller''s name for the call, even if the call is '
    'repeated. It records an event for each memory.';

CREATE OR REPLACE FUNCTION log_events(
    agent text, event_type text, ids uuid[], old_values jsonb[], new_values jsonb[], reason text,
    actor text, metadata jsonb, key text DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
BEGIN
    INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values,
                               new_values, metadata, occurred_at)
    SELECT agent, e.id, coalesce(id_of_key(agent, key), event_id()), event_type, reason, actor,
           e.old_values,
           coalesce(e.new_values, log_events.new_values[1]), metadata, clock_timestamp()
      FROM unnest(ids, old_values, new_values) e(id, old_values, new_values)
     WHERE e.id IS NOT NULL;  -- new_values may be the only one that is not empty
END
$function$;

COMMENT ON FUNCTION log_events IS
    'Records an event for each memory, with its old and new values. The array new_values may have '
    'one element for all memories; either may be {}. key: the caller''s name for the change of one '
    'memory, from which the id of its event is made.';

-- The caller has locked the memory, so that of two calls with one key the second waits.
CREATE OR REPLACE FUNCTION is_repeated(agent text, memory_id uuid, key text) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM require_key(key);
    RETURN key IS NOT NULL AND EXISTS (SELECT FROM memory_events e
                    WHERE e.agent_id = agent AND e.memory_id = is_repeated.memory_id
                      AND e.id = id_of_key(agent, key));
END
$function$;

COMMENT ON FUNCTION is_repeated IS
    'Returns true if the change to which a caller gave this key was made before; NULL is no key.';

CREATE OR REPLACE FUNCTION require_key(key text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM require(key IS NULL OR NOT is_blank(key) AND length(key) <= @MAX_NAME_LENGTH@,
                    'a key has 1 to @MAX_NAME_LENGTH@ characters');
END
$function$;

COMMENT ON FUNCTION require_key IS
    'Raises invalid_parameter_value for a text that cannot be a key; NULL is no key.';

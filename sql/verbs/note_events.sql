CREATE OR REPLACE FUNCTION note_events(
    agent text, event_type text, ids uuid[], old_values jsonb[], new_values jsonb[], reason text,
    actor text, metadata jsonb) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
BEGIN
    INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values,
                               new_values, metadata, occurred_at)
    SELECT agent, e.id, event_id(), event_type, reason, actor, e.old_values,
           coalesce(e.new_values, note_events.new_values[1]), metadata, clock_timestamp()
      FROM unnest(ids, old_values, new_values) e(id, old_values, new_values)
     WHERE e.id IS NOT NULL;  -- new_values may be the only one that is not empty
END
$function$;

COMMENT ON FUNCTION note_events IS
    'Records an event for each memory, with its old and new values. new_values may have one element for all memories; either may be {}.';

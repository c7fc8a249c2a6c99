CREATE OR REPLACE FUNCTION set_importance(
    agent text, memory_id uuid, importance float8, reason text DEFAULT NULL,
    actor text DEFAULT session_user, metadata jsonb DEFAULT '{}') RETURNS SETOF memory_records
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    before float8;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_note(reason, actor, metadata);
    PERFORM require_share('importance', set_importance.importance);
    SELECT m.importance INTO before FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = set_importance.memory_id FOR NO KEY UPDATE;
    PERFORM require_found(agent, set_importance.memory_id, FOUND);
    UPDATE agent_memories m SET importance = set_importance.importance, updated_at = moment
     WHERE m.agent_id = agent AND m.id = set_importance.memory_id;
    INSERT INTO memory_events (
        agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata,
        occurred_at)
    VALUES (
        agent, set_importance.memory_id, event_id(), 'importance', set_importance.reason,
        set_importance.actor, jsonb_build_object('importance', before),
        jsonb_build_object('importance', set_importance.importance), set_importance.metadata,
        clock_timestamp());
    RETURN QUERY SELECT * FROM memory_records r
                  WHERE r.agent_id = agent AND r.id = set_importance.memory_id;
END
$function$;

COMMENT ON FUNCTION set_importance IS
    'Overrides a memory''s importance, within 0 and 1; returns the memory.';

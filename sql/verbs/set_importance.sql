CREATE OR REPLACE FUNCTION set_importance(
    agent text, memory_id uuid, importance float8, reason text DEFAULT NULL,
    actor text DEFAULT session_user, metadata jsonb DEFAULT '{}') RETURNS SETOF memory_records
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    before float8;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    PERFORM require_share('importance', importance);
    SELECT m.importance INTO before FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = set_importance.memory_id FOR NO KEY UPDATE;
    PERFORM require_found(agent, memory_id, FOUND);
    UPDATE agent_memories m SET importance = set_importance.importance, updated_at = moment
     WHERE m.agent_id = agent AND m.id = set_importance.memory_id;
    PERFORM log_events(agent, 'importance', ARRAY[memory_id],
        ARRAY[jsonb_build_object('importance', before)],
        ARRAY[jsonb_build_object('importance', importance)], reason, actor, metadata);
    RETURN QUERY SELECT @record: r.{}@ FROM memory_records r
                  WHERE r.agent_id = agent AND r.id = set_importance.memory_id;
END
$function$;

COMMENT ON FUNCTION set_importance IS
    'Sets the importance of a memory, within 0 and 1; returns the memory.';

CREATE FUNCTION invalidate_memories(
    agent text,
    memory_ids uuid[],
    reason text DEFAULT NULL,
    actor text DEFAULT NULL,
    metadata jsonb DEFAULT '{}'
) RETURNS TABLE (id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    ids uuid[] := memory_ids;
    note_reason text := reason;
    note_actor text := coalesce(actor, session_user);
    note_metadata jsonb := coalesce(metadata, '{}'::jsonb);
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (actor = '' IS TRUE OR jsonb_typeof(coalesce(metadata, '{}'::jsonb)) <> 'object') IS NOT FALSE THEN
        RAISE EXCEPTION 'actor must not be empty and metadata must be a JSON object, got % and %', actor, metadata
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH locked AS
    (SELECT agent_memories.id AS id, agent_memories.invalidated_at AS invalidated_at, agent_memories.invalidation_reason AS invalidation_reason
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.id = ANY (CAST(ids AS UUID[])) AND (agent_memories.invalidated_at IS NULL OR agent_memories.invalidated_at > now()) ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    changed AS
    (UPDATE agent_memories SET updated_at=now(), invalidated_at=now(), invalidation_reason='forgotten' FROM locked WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id RETURNING agent_memories.id, jsonb_build_object('invalidated_at', locked.invalidated_at, 'invalidation_reason', locked.invalidation_reason) AS old_values, jsonb_build_object('invalidated_at', agent_memories.invalidated_at, 'invalidation_reason', agent_memories.invalidation_reason) AS new_values, 'forgotten' AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
END
$operation$;

COMMENT ON FUNCTION invalidate_memories IS
    'Forgets memories of an agent: they stay, but are not recalled from now on.';

CREATE FUNCTION archive_excess_batch(
    agent text,
    max_live bigint,
    policy text DEFAULT 'default',
    batch_size integer DEFAULT 1000
) RETURNS TABLE (id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    note_reason text := 'garbage collection by policy ' || coalesce(policy, 'default');
    note_actor text := session_user;
    note_metadata jsonb := '{}'::jsonb;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (max_live < 0 IS TRUE) IS NOT FALSE THEN
        RAISE EXCEPTION 'max_live must not be negative, got %', max_live
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (policy IS NULL OR policy = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'policy must be named'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (batch_size IS NULL OR NOT batch_size BETWEEN 1 AND 100000) IS NOT FALSE THEN
        RAISE EXCEPTION 'batch_size lies within 1 and 100000, got %', batch_size
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH least AS
    (SELECT rival.id AS id
    FROM agent_memories AS rival
    WHERE rival.agent_id = owner_id AND rival.status != 'archived' ORDER BY coalesce(rival.trust, 0.5::float8), rival.created_at NULLS FIRST, rival.id
     LIMIT least(batch_size, greatest((SELECT count(*) AS count_1
    FROM agent_memories AS rival
    WHERE rival.agent_id = owner_id AND rival.status != 'archived') - max_live, 0))),
    locked AS
    (SELECT agent_memories.id AS id, agent_memories.status AS status
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.status != 'archived' AND agent_memories.id IN (SELECT least.id
    FROM least) ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    changed AS
    (UPDATE agent_memories SET updated_at=now(), status='archived' FROM locked WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id RETURNING agent_memories.id, jsonb_build_object('status', locked.status) AS old_values, jsonb_build_object('status', agent_memories.status, 'rule', 'max_live') AS new_values, 'archived' AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
END
$operation$;

COMMENT ON FUNCTION archive_excess_batch IS
    'One batch of the garbage collection: the least trusted beyond the cap are archived.';

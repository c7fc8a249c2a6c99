CREATE FUNCTION adjust_trust(
    agent text,
    memory_id uuid,
    delta float8,
    reason text,
    actor text DEFAULT NULL,
    metadata jsonb DEFAULT '{}'
) RETURNS TABLE (id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    this_id uuid := adjust_trust.memory_id;
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
    IF (NOT delta BETWEEN -1 AND 1 OR reason = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'delta lies within -1 and 1 and needs a reason, got % and %', delta, reason
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH locked AS
    (SELECT agent_memories.id AS id, agent_memories.trust AS trust, agent_memories.trust_provenance AS trust_provenance, agent_memories.trust_consensus AS trust_consensus, agent_memories.trust_governance AS trust_governance, agent_memories.trust_usage AS trust_usage
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.id = this_id AND agent_memories.trust IS NOT NULL ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    changed AS
    (UPDATE agent_memories SET trust=CASE WHEN (least(greatest(locked.trust + delta, 0.0), 1.0) < 1e-100::float8) THEN 0.0 ELSE least(greatest(locked.trust + delta, 0.0), 1.0) END, updated_at=now() FROM locked WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id RETURNING agent_memories.id, jsonb_build_object('trust', locked.trust, 'trust_provenance', locked.trust_provenance, 'trust_consensus', locked.trust_consensus, 'trust_governance', locked.trust_governance, 'trust_usage', locked.trust_usage) AS old_values, jsonb_build_object('trust', agent_memories.trust, 'trust_provenance', agent_memories.trust_provenance, 'trust_consensus', agent_memories.trust_consensus, 'trust_governance', agent_memories.trust_governance, 'trust_usage', agent_memories.trust_usage) AS new_values, 'manual' AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
    IF NOT FOUND THEN
        RAISE EXCEPTION '% has no memory % that adjust_trust could change', agent, adjust_trust.memory_id
            USING ERRCODE = 'no_data_found';
    END IF;
END
$operation$;

COMMENT ON FUNCTION adjust_trust IS
    'Adds delta to the stored trust of a memory, within 0 and 1, for a reason.';

CREATE FUNCTION record_outcome(
    agent text,
    memory_id uuid,
    outcome text,
    reason text DEFAULT NULL,
    actor text DEFAULT NULL,
    metadata jsonb DEFAULT '{}',
    touch boolean DEFAULT true
) RETURNS TABLE (id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    this_id uuid := record_outcome.memory_id;
    success boolean := outcome = 'success';
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
    IF (outcome NOT IN ('success', 'failure')) IS NOT FALSE THEN
        RAISE EXCEPTION 'outcome is success or failure, got %', outcome
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH locked AS
    (SELECT agent_memories.id AS id, agent_memories.trust AS trust, agent_memories.trust_provenance AS trust_provenance, agent_memories.trust_consensus AS trust_consensus, agent_memories.trust_governance AS trust_governance, agent_memories.trust_usage AS trust_usage
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.id = this_id ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    counted AS
    (INSERT INTO memory_usage (agent_id, memory_id, retrieval_count, success_count, failure_count, last_accessed_at) SELECT owner_id AS anon_5, locked.id AS id, CASE WHEN touch THEN 1 ELSE 0 END AS anon_6, CASE WHEN success THEN 1 ELSE 0 END AS anon_7, 1 - CASE WHEN success THEN 1 ELSE 0 END AS anon_8, CASE WHEN touch THEN now() ELSE CAST(NULL AS TIMESTAMP WITH TIME ZONE) END AS anon_9
    FROM locked
    WHERE true ON CONFLICT (agent_id, memory_id) DO UPDATE SET retrieval_count = (memory_usage.retrieval_count + excluded.retrieval_count), last_accessed_at = greatest(memory_usage.last_accessed_at, excluded.last_accessed_at), success_count = (memory_usage.success_count + excluded.success_count), failure_count = (memory_usage.failure_count + excluded.failure_count) RETURNING memory_usage.agent_id, memory_usage.memory_id, memory_usage.retrieval_count, memory_usage.last_accessed_at, memory_usage.success_count, memory_usage.failure_count, memory_usage.feedback_up, memory_usage.feedback_down),
    changed AS
    (UPDATE agent_memories SET trust=CASE WHEN (trust_after_outcome(locked.trust, success, counted.success_count, counted.failure_count, counted.retrieval_count) < 1e-100::float8) THEN 0.0 ELSE trust_after_outcome(locked.trust, success, counted.success_count, counted.failure_count, counted.retrieval_count) END, updated_at=now(), trust_usage=trust_usage(counted.success_count, counted.failure_count, counted.retrieval_count) FROM locked, counted WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id AND counted.memory_id = locked.id RETURNING agent_memories.id, jsonb_build_object('trust', locked.trust, 'trust_provenance', locked.trust_provenance, 'trust_consensus', locked.trust_consensus, 'trust_governance', locked.trust_governance, 'trust_usage', locked.trust_usage) AS old_values, jsonb_build_object('trust', agent_memories.trust, 'trust_provenance', agent_memories.trust_provenance, 'trust_consensus', agent_memories.trust_consensus, 'trust_governance', agent_memories.trust_governance, 'trust_usage', agent_memories.trust_usage, 'success_count', counted.success_count, 'failure_count', counted.failure_count, 'retrieval_count', counted.retrieval_count) AS new_values, CASE WHEN success THEN 'reinforcement' ELSE 'penalty' END AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
    IF NOT FOUND THEN
        RAISE EXCEPTION '% has no memory % that record_outcome could change', agent, record_outcome.memory_id
            USING ERRCODE = 'no_data_found';
    END IF;
END
$operation$;

COMMENT ON FUNCTION record_outcome IS
    'Counts a success or failure of a memory''s use and moves its trust; touch counts a retrieval too.';

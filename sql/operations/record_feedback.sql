CREATE FUNCTION record_feedback(
    agent text,
    memory_id uuid,
    kind text,
    context text DEFAULT NULL,
    actor text DEFAULT NULL,
    metadata jsonb DEFAULT '{}'
) RETURNS TABLE (id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    this_id uuid := record_feedback.memory_id;
    up integer := CASE kind WHEN 'useful' THEN 1 ELSE 0 END;
    down integer := CASE kind WHEN 'useful' THEN 0 WHEN 'incorrect' THEN 3 ELSE 1 END;
    outdated boolean := kind = 'outdated';
    note_reason text := context;
    note_actor text := coalesce(actor, session_user);
    note_metadata jsonb := coalesce(metadata, '{}'::jsonb) || jsonb_build_object('kind', kind);
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (actor = '' IS TRUE OR jsonb_typeof(coalesce(metadata, '{}'::jsonb)) <> 'object') IS NOT FALSE THEN
        RAISE EXCEPTION 'actor must not be empty and metadata must be a JSON object, got % and %', actor, metadata
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (kind NOT IN ('useful', 'not_useful', 'outdated', 'incorrect')) IS NOT FALSE THEN
        RAISE EXCEPTION 'feedback is useful, not_useful, outdated or incorrect, got %', kind
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH locked AS
    (SELECT agent_memories.id AS id, agent_memories.usefulness AS usefulness, agent_memories.needs_review AS needs_review
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.id = this_id ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    counted AS
    (INSERT INTO memory_usage (agent_id, memory_id, feedback_up, feedback_down, last_accessed_at) SELECT owner_id AS anon_5, locked.id AS id, up AS anon_6, down AS anon_7, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS "NULL"
    FROM locked
    WHERE true ON CONFLICT (agent_id, memory_id) DO UPDATE SET last_accessed_at = greatest(memory_usage.last_accessed_at, excluded.last_accessed_at), feedback_up = (memory_usage.feedback_up + excluded.feedback_up), feedback_down = (memory_usage.feedback_down + excluded.feedback_down) RETURNING memory_usage.agent_id, memory_usage.memory_id, memory_usage.retrieval_count, memory_usage.last_accessed_at, memory_usage.success_count, memory_usage.failure_count, memory_usage.feedback_up, memory_usage.feedback_down),
    changed AS
    (UPDATE agent_memories SET usefulness=usefulness_after_feedback(locked.usefulness, counted.feedback_up - up, counted.feedback_down - down, up, down), updated_at=now(), needs_review=(locked.needs_review OR outdated) FROM locked, counted WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id AND counted.memory_id = locked.id RETURNING agent_memories.id, jsonb_build_object('usefulness', locked.usefulness, 'needs_review', locked.needs_review) AS old_values, jsonb_build_object('usefulness', agent_memories.usefulness, 'needs_review', agent_memories.needs_review, 'feedback_up', counted.feedback_up, 'feedback_down', counted.feedback_down) AS new_values, 'feedback' AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
    IF NOT FOUND THEN
        RAISE EXCEPTION '% has no memory % that record_feedback could change', agent, record_feedback.memory_id
            USING ERRCODE = 'no_data_found';
    END IF;
END
$operation$;

COMMENT ON FUNCTION record_feedback IS
    'Counts feedback on a memory (useful, not_useful, outdated, incorrect) and moves its usefulness.';

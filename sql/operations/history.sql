CREATE FUNCTION history(
    agent text,
    memory_id uuid
) RETURNS TABLE (
    id uuid, occurred_at timestamptz, event_type text, reason text, actor text,
    old_trust float8, new_trust float8, trust_delta float8, provenance_delta float8,
    consensus_delta float8, governance_delta float8, usage_delta float8,
    old_values jsonb, new_values jsonb, metadata jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    this_id uuid := history.memory_id;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT h.id, h.occurred_at, h.event_type, h.reason, h.actor,
           (h.old_values ->> 'trust')::float8, (h.new_values ->> 'trust')::float8,
           (h.new_values ->> 'trust')::float8 - (h.old_values ->> 'trust')::float8,
           (h.new_values ->> 'trust_provenance')::float8 - (h.old_values ->> 'trust_provenance')::float8,
           (h.new_values ->> 'trust_consensus')::float8 - (h.old_values ->> 'trust_consensus')::float8,
           (h.new_values ->> 'trust_governance')::float8 - (h.old_values ->> 'trust_governance')::float8,
           (h.new_values ->> 'trust_usage')::float8 - (h.old_values ->> 'trust_usage')::float8,
           h.old_values, h.new_values, h.metadata
      FROM (
    SELECT memory_events.id, memory_events.memory_id, memory_events.event_type, memory_events.reason, memory_events.actor, coalesce(memory_events.old_values, '{}'::jsonb) AS old_values, coalesce(memory_events.new_values, '{}'::jsonb) AS new_values, memory_events.metadata, memory_events.occurred_at
    FROM memory_events
    WHERE memory_events.agent_id = owner_id AND memory_events.memory_id = this_id ORDER BY memory_events.occurred_at, memory_events.id) h
     ORDER BY h.occurred_at, h.id;
END
$operation$;

COMMENT ON FUNCTION history IS
    'What happened to a memory of an owner, oldest first, with what it did to trust.';

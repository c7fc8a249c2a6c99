CREATE FUNCTION history(
    agent text,
    memory_id uuid,
    of_team boolean DEFAULT false
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
    IF (of_team IS NULL) IS NOT FALSE THEN
        RAISE EXCEPTION 'of_team must be true or false'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF of_team THEN
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
        WHERE memory_events.agent_id = owner_id AND memory_events.memory_id = this_id AND NOT (EXISTS (SELECT 1
        FROM agent_memories
        WHERE agent_memories.agent_id = owner_id AND agent_memories.id = memory_events.memory_id)) AND NOT (EXISTS (SELECT 1
        FROM memory_events AS last
        WHERE last.agent_id = owner_id AND last.memory_id = memory_events.memory_id AND last.event_type = 'deleted' AND (last.old_values ->> 'table_name') = 'agent_memories')) ORDER BY memory_events.occurred_at, memory_events.id) h
         ORDER BY h.occurred_at, h.id;
    ELSE
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
        WHERE memory_events.agent_id = owner_id AND memory_events.memory_id = this_id AND NOT (EXISTS (SELECT 1
        FROM team_memories
        WHERE team_memories.team_id = owner_id AND team_memories.id = memory_events.memory_id)) AND NOT (EXISTS (SELECT 1
        FROM memory_events AS last
        WHERE last.agent_id = owner_id AND last.memory_id = memory_events.memory_id AND last.event_type = 'deleted' AND (last.old_values ->> 'table_name') = 'team_memories')) ORDER BY memory_events.occurred_at, memory_events.id) h
         ORDER BY h.occurred_at, h.id;
    END IF;
END
$operation$;

COMMENT ON FUNCTION history IS
    'What happened to a memory of an agent (or a team), oldest first, with what it did to trust.';

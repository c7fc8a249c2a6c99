CREATE OR REPLACE FUNCTION history(agent text, memory_id uuid)
    RETURNS TABLE (
        id uuid, occurred_at timestamptz, event_type text, reason text, actor text,
        old_trust float8, new_trust float8, trust_delta float8, provenance_delta float8,
        consensus_delta float8, governance_delta float8, usage_delta float8,
        old_values jsonb, new_values jsonb, metadata jsonb)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    PERFORM require_owner(agent);
    RETURN QUERY
    SELECT e.id, e.occurred_at, e.event_type, e.reason, e.actor,
           o.trust, n.trust, n.trust - o.trust,
           n.trust_provenance - o.trust_provenance, n.trust_consensus - o.trust_consensus,
           n.trust_governance - o.trust_governance, n.trust_usage - o.trust_usage,
           coalesce(e.old_values, '{}'), coalesce(e.new_values, '{}'), e.metadata
      FROM memory_events e,
           jsonb_to_record(coalesce(e.old_values, '{}')) o(
               trust float8, trust_provenance float8, trust_consensus float8,
               trust_governance float8, trust_usage float8),
           jsonb_to_record(coalesce(e.new_values, '{}')) n(
               trust float8, trust_provenance float8, trust_consensus float8,
               trust_governance float8, trust_usage float8)
     WHERE e.agent_id = agent AND e.memory_id = history.memory_id
     ORDER BY e.occurred_at, e.id;
END
$function$;

COMMENT ON FUNCTION history IS
    'The events of a memory, oldest first, with their effect on trust; also of a deleted memory.';

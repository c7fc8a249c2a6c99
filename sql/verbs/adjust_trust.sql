CREATE OR REPLACE FUNCTION adjust_trust(
    agent text, memory_id uuid, delta float8, reason text, actor text DEFAULT session_user,
    metadata jsonb DEFAULT '{}') RETURNS SETOF memory_records
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    old record;
    new_trust float8;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    PERFORM require(delta BETWEEN -1 AND 1, format(
        'delta must lie within -1 and 1, got %s', coalesce(delta::text, 'NULL')));
    PERFORM require(reason ~ '\S' AND actor IS NOT NULL,
                    'a manual change of trust needs a reason and an actor');
    SELECT m.trust, trust_parts(m.trust, m.trust_provenance, m.trust_consensus, m.trust_governance,
                                m.trust_usage) AS parts INTO old FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = adjust_trust.memory_id FOR NO KEY UPDATE;
    PERFORM require_found(agent, memory_id, FOUND);
    PERFORM require(old.trust IS NOT NULL, format(
        'the trust of memory %s was never assessed; set trust with an update first', memory_id),
        'PM001');
    new_trust := storable_share(least(greatest(old.trust + delta, 0), 1));
    UPDATE agent_memories m SET trust = new_trust, updated_at = moment
     WHERE m.agent_id = agent AND m.id = adjust_trust.memory_id;
    PERFORM log_events(agent, 'manual', ARRAY[memory_id], ARRAY[old.parts],
        ARRAY[old.parts || jsonb_build_object('trust', new_trust)], reason, actor, metadata);
    RETURN QUERY SELECT @record: r.{}@ FROM memory_records r
                  WHERE r.agent_id = agent AND r.id = adjust_trust.memory_id;
END
$function$;

COMMENT ON FUNCTION adjust_trust IS
    'Adds delta to the stored trust of a memory, within 0 and 1. It needs a reason.';

CREATE OR REPLACE FUNCTION adjust_trust(
    agent text, memory_id uuid, delta float8, reason text, actor text DEFAULT session_user,
    metadata jsonb DEFAULT '{}') RETURNS SETOF memory_records
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    new_trust float8;
    old_values jsonb;
    new_values jsonb;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_note(adjust_trust.reason, adjust_trust.actor, adjust_trust.metadata);
    IF delta IS NULL OR NOT delta BETWEEN -1 AND 1 THEN
        RAISE EXCEPTION 'delta must lie within -1 and 1, got %', coalesce(delta::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF (adjust_trust.reason ~ '\S') IS NOT TRUE OR adjust_trust.actor IS NULL THEN
        RAISE EXCEPTION 'a manual change of trust needs a reason and an actor'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM lock_memories(agent, ARRAY[adjust_trust.memory_id]);
    SELECT storable_share(least(greatest(m.trust + delta, 0), 1)), jsonb_build_object(
               'trust', m.trust, 'trust_provenance', m.trust_provenance,
               'trust_consensus', m.trust_consensus, 'trust_governance', m.trust_governance,
               'trust_usage', m.trust_usage)
      INTO new_trust, old_values
      FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = adjust_trust.memory_id AND m.trust IS NOT NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the trust of memory % was never assessed; set it with update(trust=…)',
            adjust_trust.memory_id USING ERRCODE = 'PM001';
    END IF;

    UPDATE agent_memories m SET trust = new_trust, updated_at = moment
     WHERE m.agent_id = agent AND m.id = adjust_trust.memory_id;
    new_values := old_values || jsonb_build_object('trust', new_trust);
    INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor,
                               old_values, new_values, metadata, occurred_at)
    VALUES (agent, adjust_trust.memory_id, event_id(), 'manual',
            adjust_trust.reason, adjust_trust.actor, old_values, new_values,
            adjust_trust.metadata, clock_timestamp());
    RETURN QUERY SELECT * FROM memory_records r
                  WHERE r.agent_id = agent AND r.id = adjust_trust.memory_id;
END
$function$;

COMMENT ON FUNCTION adjust_trust IS
    'Adds delta to the stored trust of a memory, within 0 and 1, for a reason.';

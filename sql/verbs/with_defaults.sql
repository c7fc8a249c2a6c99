-- The defaults have queries of their own: on Citus, planning a join with them takes milliseconds.
CREATE OR REPLACE FUNCTION with_defaults(
    agent text, memories agent_memories[], ids uuid[], edition integer) RETURNS SETOF agent_memories
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    components text[];
    output_types text[];
    reputations jsonb;
    decays jsonb;
    lifetimes jsonb;
    usual_tier text;
BEGIN
    SELECT array_agg(DISTINCT m.component), array_agg(DISTINCT m.output_type)
      INTO components, output_types FROM unnest(memories) m;
    SELECT jsonb_object_agg(r.component, r.reputation) INTO reputations
      FROM component_reputations r WHERE r.component = ANY (components || '*'::text);
    SELECT jsonb_object_agg(d.output_type, ARRAY[d.trust_curve, d.trust_half_life_hours::text])
      INTO decays
      FROM output_type_defaults d WHERE d.output_type = ANY (output_types || '*'::text);
    SELECT jsonb_object_agg(t.tier, t.expires_after_hours), min(t.tier) FILTER (WHERE t.is_default)
      INTO lifetimes, usual_tier FROM tier_defaults t;
    RETURN QUERY
    SELECT @table: {assessed}@
      -- In sub-selects, so that the plan does not depend on their number and can be cached. The
      -- ids are the column `unnest`, after those of the memories.
      FROM ROWS FROM (unnest((SELECT memories)), unnest((SELECT ids))) WITH ORDINALITY m
     CROSS JOIN LATERAL (SELECT coalesce(m.confidence, 0.8) AS confidence,
                                coalesce(m.tier, usual_tier, 'long') AS tier,
                                coalesce(reputations -> m.component, reputations -> '*')::float8
                                    AS reputation,
                                coalesce(decays -> m.output_type, decays -> '*') AS decay) given
     CROSS JOIN LATERAL (
           SELECT trust_provenance(coalesce(given.reputation, 0.7), given.confidence)
               AS provenance) computed
     -- The caller's parts are stored as they are; if the caller gives trust, none is computed.
     CROSS JOIN LATERAL (
           SELECT CASE WHEN m.trust IS NULL AND m.trust_provenance IS NULL
                       THEN CASE WHEN computed.provenance < 1e-100 THEN 0
                                 ELSE computed.provenance END
                       ELSE m.trust_provenance END AS provenance,
                  CASE WHEN m.trust IS NULL AND m.trust_consensus IS NULL
                       THEN coalesce(m.quality_score, given.confidence)
                       ELSE m.trust_consensus END AS consensus,
                  CASE WHEN m.trust IS NULL AND m.trust_governance IS NULL
                       THEN trust_governance(m.compliant, m.requires_approval, m.has_errors,
                                             m.violates_policy, m.under_policy_review)
                       ELSE m.trust_governance END AS governance,
                  CASE WHEN m.trust IS NULL AND m.trust_usage IS NULL THEN 0
                       ELSE m.trust_usage END AS usage) part
     CROSS JOIN LATERAL (
           SELECT initial_trust(part.provenance, part.consensus, part.governance, part.usage)
               AS trust) total
     CROSS JOIN LATERAL (
           SELECT with_defaults.agent AS agent_id, m.unnest AS id, given.confidence, given.tier,
                  CASE WHEN m.trust IS NULL
                       THEN CASE WHEN total.trust < 1e-100 THEN 0 ELSE total.trust END
                       WHEN m.trust <> 'NaN' THEN m.trust END AS trust,
                  part.provenance AS trust_provenance, part.consensus AS trust_consensus,
                  part.governance AS trust_governance, part.usage AS trust_usage,
                  nullif(coalesce(m.trust_curve, given.decay ->> 0), 'none') AS trust_curve,
                  nullif(coalesce(m.trust_half_life_hours, (given.decay ->> 1)::float8), 'NaN')
                      AS trust_half_life_hours,
                  nullif(coalesce(m.created_at, now()), '-infinity') AS created_at,
                  now() AS updated_at,
                  nullif(coalesce(m.expires_at, now() + (lifetimes ->> given.tier)::float8
                                                * interval '1 hour'), 'infinity') AS expires_at,
                  CASE WHEN m.requires_approval THEN 'pending' ELSE 'active' END AS status,
                  content_hash(m.content) AS content_hash,
                  to_timestamp(m.ordinality) AS inserted_at,  -- the place in the batch
                  CASE WHEN m.key IS NULL THEN with_defaults.edition END AS edition) decided;
END
$function$;

COMMENT ON FUNCTION with_defaults IS
    'Returns memories ready to store, with a value for every field: defaults, trust, decay, tier '
    'and expiry. The argument edition is for memories without a key; NULL is none.';

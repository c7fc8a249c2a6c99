-- PostgreSQL inlines this query where it is used, so a batch is not copied once more. OFFSET 0
-- keeps it a subquery, so that the hash of each text is computed once.
CREATE OR REPLACE FUNCTION assessed(
    agent text, memories agent_memories[], ids uuid[], edition integer) RETURNS SETOF agent_memories
    LANGUAGE sql STABLE
    BEGIN ATOMIC
        -- In the order of the table's columns; inserted_at holds the place in the batch.
        SELECT
            assessed.agent, m.unnest,
            coalesce(m.usefulness, 0.5), given.confidence, coalesce(m.importance, 0.5),
            CASE WHEN m.trust IS NULL THEN CASE WHEN total.trust < 1e-100 THEN 0 ELSE total.trust END
                 WHEN m.trust <> 'NaN' THEN m.trust END,
            nullif(coalesce(m.trust_half_life_hours, d.trust_half_life_hours,
                            others.trust_half_life_hours), 'NaN'),
            nullif(coalesce(m.created_at, now()), '-infinity'), now(),
            m.valid_from, m.valid_until,
            nullif(coalesce(m.expires_at, now() + t.expires_after_hours * interval '1 hour'),
                   'infinity'),
            NULL::timestamptz, m.observed_at,
            CASE WHEN m.requires_approval THEN 'pending' ELSE 'active' END AS status, given.tier,
            coalesce(m.memory_type, 'episodic'),
            nullif(coalesce(m.trust_curve, d.trust_curve, others.trust_curve), 'none'),
            coalesce(m.entities, '{}'), m.embedding, m.content, content_hash(m.content),
            m.embedding_model, coalesce(m.additional_types, '{}'), m.memory_nature,
            m.content_type, m.subject, coalesce(m.tags, '{}'), coalesce(m.metadata, '{}'), false,
            part.provenance, part.consensus, part.governance, part.usage,
            m.component, m.output_type, m.domain, m.category, m."loop", m.quality_score,
            m.compliant, coalesce(m.requires_approval, false), coalesce(m.has_errors, false),
            coalesce(m.violates_policy, false), coalesce(m.under_policy_review, false),
            NULL::text, NULL::uuid, to_timestamp(m.ordinality), NULL::tsvector, m.tokens,
            m.key, CASE WHEN m.key IS NULL THEN assessed.edition END, m.session, m.turn
          -- In sub-selects, so that the plan does not depend on their number and can be cached. The
          -- ids are the column `unnest`, after those of the memories.
          FROM ROWS FROM (unnest((SELECT memories)), unnest((SELECT ids))) WITH ORDINALITY m
         CROSS JOIN LATERAL (SELECT coalesce(m.confidence, 0.8) AS confidence,
                                    coalesce(m.tier, (
                                        SELECT tier FROM tier_defaults WHERE is_default
                                         ORDER BY tier LIMIT 1), 'long') AS tier) given
          LEFT JOIN component_reputations r ON r.component = m.component
          LEFT JOIN component_reputations rest ON rest.component = '*'
          LEFT JOIN output_type_defaults d ON d.output_type = m.output_type
          LEFT JOIN output_type_defaults others ON others.output_type = '*'
          LEFT JOIN tier_defaults t ON t.tier = given.tier
         CROSS JOIN LATERAL (
               SELECT trust_provenance(coalesce(r.reputation, rest.reputation, 0.7),
                                       given.confidence) AS provenance) computed
         -- Given parts are stored as they are; where trust is given, none is computed.
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
        OFFSET 0;
    END;

COMMENT ON FUNCTION assessed IS
    'Memories to be stored, with every field decided: defaults, trust, decay, tier and expiry. edition: for memories without a key; NULL: none.';

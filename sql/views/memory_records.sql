-- Verbs that change one memory return its row of this view, as it is afterwards.
CREATE OR REPLACE VIEW memory_records WITH (security_invoker = true) AS
SELECT m.agent_id, m.id, m.usefulness, m.confidence, m.importance, m.trust,
       m.trust_half_life_hours, m.created_at, m.updated_at, m.valid_from, m.valid_until,
       m.expires_at, m.invalidated_at, m.status, m.tier, m.memory_type, m.trust_curve,
       m.entities, m.embedding, m.content, m.embedding_model, m.additional_types,
       m.memory_nature, m.content_type, m.subject, m.tags, m.metadata, m.needs_review,
       m.trust_provenance, m.trust_consensus, m.trust_governance, m.trust_usage, m.component,
       m.output_type, m.domain, m.category, m.loop, m.quality_score, m.compliant,
       m.requires_approval, m.has_errors, m.violates_policy, m.under_policy_review,
       m.observed_at, m.invalidation_reason, m.superseded_by, m.tokens, m.key, m.session,
       m.turn,
       u.last_accessed_at, coalesce(u.retrieval_count, 0) AS retrieval_count,
       coalesce(u.success_count, 0) AS success_count, coalesce(u.failure_count, 0) AS failure_count,
       coalesce(u.feedback_up, 0) AS feedback_up, coalesce(u.feedback_down, 0) AS feedback_down
  FROM agent_memories m
  LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id;

COMMENT ON VIEW memory_records IS
    'Memories with their counters, as the repository returns them; filter on agent_id.';

DO $$
DECLARE
    named record;
BEGIN
    FOR named IN
        SELECT v.attname AS column, col_description(t.attrelid, t.attnum) AS comment
          FROM pg_attribute v JOIN pg_attribute t USING (attname)
         WHERE v.attrelid = 'memory_records'::regclass AND v.attnum > 0
           AND t.attrelid IN ('agent_memories'::regclass, 'memory_usage'::regclass) LOOP
        EXECUTE format('COMMENT ON COLUMN memory_records.%I IS %L', named.column, named.comment);
    END LOOP;
END
$$;

-- Moves the memories of Grace in from the same database: its tables cognition_memory_artifacts,
-- cognition_trust_events (the history) and cognition_memory_index (labels). Deleted rows stay behind.
-- Grace has no agents: all memories become those of one.
--   psql -v agent=grace -f grace.sql
--   psql -v agent=grace -v source=cognition -f grace.sql
-- source: the schema of Grace's tables, public; schema: pgrecall. All or nothing. It can be repeated:
-- memories that are there stay as they are.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?agent} \else
DO $$ BEGIN RAISE EXCEPTION 'agent is not set: psql -v agent=… -f grace.sql'; END $$;
\endif
\if :{?source} \else \set source public \endif
WITH parts AS (
    -- Grace notes how much each part of trust changed. Their sums are the values before and after.
    SELECT e.*,
           sum(provenance_delta) OVER upto AS provenance, sum(consensus_delta) OVER upto AS consensus,
           sum(governance_delta) OVER upto AS governance, sum(usage_delta) OVER upto AS usage
      FROM :"source".cognition_trust_events e
    WINDOW upto AS (PARTITION BY artifact_id ORDER BY created_at, id)
), events AS (
    SELECT artifact_id, jsonb_agg(jsonb_build_object(
               'event_type', CASE WHEN event_type = 'successful_use' THEN 'reinforcement'
                                  WHEN event_type = 'failed_use' THEN 'penalty'
                                  WHEN event_type = 'time_decay' THEN 'decay'
                                  WHEN event_type LIKE 'manual%' THEN 'manual'
                                  ELSE event_type END,
               'reason', reason, 'actor', actor, 'occurred_at', created_at,
               'old_values', jsonb_build_object(
                   'trust', old_trust_score, 'trust_provenance', provenance - provenance_delta,
                   'trust_consensus', consensus - consensus_delta,
                   'trust_governance', governance - governance_delta,
                   'trust_usage', usage - usage_delta),
               'new_values', jsonb_build_object(
                   'trust', new_trust_score, 'trust_provenance', provenance,
                   'trust_consensus', consensus, 'trust_governance', governance,
                   'trust_usage', usage),
               'metadata', jsonb_build_object('event_type', event_type)
                   || CASE WHEN meta_data IS JSON OBJECT THEN meta_data::jsonb ELSE '{}' END)
               ORDER BY created_at, id) AS events
      FROM parts
     GROUP BY artifact_id
), labels AS (
    -- A kind that labels do not have here becomes a part of the value: policy:privacy. Weights are
    -- shares here; where Grace has one above 1, all are divided by the greatest.
    SELECT artifact_id, jsonb_agg(jsonb_build_object(
               'kind', CASE WHEN is_kind THEN index_type ELSE 'tag' END,
               'value', CASE WHEN is_kind THEN index_value
                             ELSE index_type || ':' || index_value END,
               'weight', weight / greatest(max_weight, 1)) ORDER BY id) AS labels
      FROM (SELECT *, index_type IN ('keyword', 'tag', 'concept', 'component') AS is_kind,
                   max(weight) OVER () AS max_weight
              FROM :"source".cognition_memory_index) i
     GROUP BY artifact_id
), ours AS (
    SELECT row_number() OVER (ORDER BY a.id) / 1000 AS batch,
           jsonb_populate_record(
               new_memory(
                   CASE WHEN result_data IS JSON SCALAR THEN result_data::jsonb #>> '{}'
                        ELSE result_data END,
                   key => memory_ref, loop => loop_id, component => component,
                   output_type => output_type, domain => domain, category => category,
                   trust => coalesce(trust_score, 'NaN'), trust_provenance => provenance_score,
                   trust_consensus => consensus_score, trust_governance => governance_score,
                   trust_usage => usage_score, trust_curve => decay_curve,
                   trust_half_life_hours => half_life_hours, confidence => confidence,
                   quality_score => quality_score, importance => importance,
                   compliant => constitutional_compliance, requires_approval => requires_approval,
                   violates_policy => tags @> '[{"status": "violation"}]',
                   under_policy_review => tags @> '[{"status": "requires_review"}]',
                   metadata => CASE WHEN meta_data IS JSON OBJECT THEN meta_data::jsonb
                                    ELSE jsonb_strip_nulls(jsonb_build_object(
                                             'meta_data', meta_data)) END
                               || jsonb_strip_nulls(jsonb_build_object(
                                      'policy_tags', nullif(tags, '[]'),
                                      'reasoning_chain_id', reasoning_chain_id,
                                      'verification_envelope_id', verification_envelope_id,
                                      'audit_log_id', audit_log_id)),
                   created_at => coalesce(created_at, '-infinity'),
                   expires_at => coalesce(expires_at, 'infinity')),
               jsonb_build_object('status', CASE WHEN is_archived THEN 'archived' ELSE 'active' END,
                                  'updated_at', coalesce(updated_at, created_at))) AS memory,
           jsonb_build_object(
               'retrieval_count', access_count, 'success_count', success_count,
               'failure_count', failure_count, 'last_accessed_at', last_accessed_at,
               'labels', coalesce(labels, '[]'), 'events', coalesce(events, '[]')) AS state
      FROM :"source".cognition_memory_artifacts a
      LEFT JOIN events ON events.artifact_id = a.id
      LEFT JOIN labels ON labels.artifact_id = a.id
     CROSS JOIN LATERAL (
           SELECT CASE WHEN policy_tags IS JSON ARRAY THEN policy_tags::jsonb ELSE '[]' END
               AS tags) policies
     WHERE is_deleted IS NOT TRUE
), batches AS (
    SELECT array_agg(memory) AS memories, array_agg(state) AS states FROM ours GROUP BY batch
)
SELECT r.outcome, count(*) AS memories
  FROM batches b
 -- What is not compliant was stored on purpose.
 CROSS JOIN LATERAL restore_rows(:'agent', b.memories, b.states, check_compliance => false) r
 GROUP BY r.outcome
 ORDER BY r.outcome;

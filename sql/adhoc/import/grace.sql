-- Moves the memories of Grace in from the same database: its tables cognition_memory_artifacts,
-- cognition_trust_events (the history), cognition_memory_index (tags) and, where it is there,
-- cognition_gc_log (runs of the garbage collection). Deleted rows become forgotten memories.
-- Grace has no agents: all memories become those of one.
--   psql -v agent=grace -v dry_run=on -f grace.sql
--   psql -v agent=grace -v source=cognition -f grace.sql
-- source: the schema of Grace's tables, public; timezone: that of times that have none, UTC;
-- schema: pgrecall. dry_run: says what would move and what would stay behind, and changes nothing.
-- All or nothing. It can be repeated: memories that are there stay as they are.

\set ON_ERROR_STOP on
\set QUIET on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?agent} \else
DO $$ BEGIN RAISE EXCEPTION 'agent is not set: psql -v agent=… -f grace.sql'; END $$;
\endif
\if :{?source} \else \set source public \endif
\if :{?timezone} \else \set timezone UTC \endif
\if :{?dry_run} \else \set dry_run off \endif
SET TimeZone = :'timezone';
SELECT to_regclass(format('%I.cognition_gc_log', :'source')) IS NOT NULL AS has_log \gset
BEGIN;
\if :has_log
CREATE TEMPORARY VIEW gc_log AS
    SELECT run.id, r.*
      FROM :"source".cognition_gc_log g
     CROSS JOIN LATERAL (SELECT id_of_key(:'agent', 'cognition_gc_log ' || g.id) AS id) run
     CROSS JOIN LATERAL jsonb_to_record(to_jsonb(g)) r(
           policy_name text, artifacts_scanned bigint, artifacts_archived bigint,
           artifacts_deleted bigint, threshold_trust float8, threshold_age_hours float8,
           duration_ms float8, created_at timestamptz, metadata text, meta_data text)
     WHERE run.id NOT IN (SELECT r.id FROM gc_runs r WHERE r.agent_id = :'agent');
\else
CREATE TEMPORARY VIEW gc_log AS
    SELECT NULL::uuid AS id, NULL AS policy_name, NULL::bigint AS artifacts_scanned,
           NULL::bigint AS artifacts_archived, NULL::bigint AS artifacts_deleted,
           NULL::float8 AS threshold_trust, NULL::float8 AS threshold_age_hours,
           NULL::float8 AS duration_ms, NULL::timestamptz AS created_at, NULL AS metadata,
           NULL AS meta_data
     WHERE false;
\endif
\if :dry_run
\echo Found:
WITH artifacts AS (
    SELECT a.id, is_archived, is_deleted,
           EXISTS (SELECT FROM agent_memories m
                    WHERE m.agent_id = :'agent' AND m.id = id_of_key(:'agent', memory_ref))
               AS is_there
      FROM :"source".cognition_memory_artifacts a
), found AS (
    SELECT 1 AS place, 'artifacts' AS what, count(*) AS rows, 'become memories' AS outcome
      FROM artifacts WHERE NOT is_there
     UNION ALL
    SELECT 2, 'artifacts, archived', count(*), 'become archived memories'
      FROM artifacts WHERE NOT is_there AND is_archived AND is_deleted IS NOT TRUE
     UNION ALL
    SELECT 3, 'artifacts, deleted', count(*), 'become forgotten memories'
      FROM artifacts WHERE NOT is_there AND is_deleted
     UNION ALL
    SELECT 4, 'artifacts that are there already', count(*), 'stay behind'
      FROM artifacts WHERE is_there
     UNION ALL
    SELECT 5, 'trust events', count(*), 'become the history'
      FROM :"source".cognition_trust_events e JOIN artifacts a ON a.id = e.artifact_id
     WHERE NOT is_there
     UNION ALL
    SELECT 6, 'trust events of no artifact, or of one that is there', count(*), 'stay behind'
      FROM :"source".cognition_trust_events e LEFT JOIN artifacts a ON a.id = e.artifact_id
     WHERE is_there IS NOT FALSE
     UNION ALL
    SELECT 7, 'index rows', count(*), 'become tags'
      FROM :"source".cognition_memory_index i JOIN artifacts a ON a.id = i.artifact_id
     WHERE NOT is_there
     UNION ALL
    SELECT 8, 'index rows of no artifact, or of one that is there', count(*), 'stay behind'
      FROM :"source".cognition_memory_index i LEFT JOIN artifacts a ON a.id = i.artifact_id
     WHERE is_there IS NOT FALSE
     UNION ALL
    SELECT 9, 'runs of the garbage collection', count(*), 'become runs' FROM gc_log
     UNION ALL
    SELECT 10, 'runs with metadata', count(*), 'their metadata stays behind' FROM gc_log
     WHERE coalesce(metadata, meta_data, '{}') <> '{}'
)
SELECT what, rows, outcome FROM found WHERE rows > 0 ORDER BY place;
\echo Would be:
\endif
INSERT INTO gc_runs (
    agent_id, id, policy, min_trust_threshold, max_age_hours, scanned, archived, deleted, swept,
    started_at, seconds, finished)
SELECT :'agent', id, coalesce(policy_name, 'grace'),
       threshold_trust, threshold_age_hours, coalesce(artifacts_scanned, 0),
       coalesce(artifacts_archived, 0), coalesce(artifacts_deleted, 0), 0,
       coalesce(created_at, now()), coalesce(duration_ms, 0) / 1000, true
  FROM gc_log
    ON CONFLICT DO NOTHING;
WITH parts AS (
    -- Grace notes how much each part of trust changed. Their sums are the values before and after.
    SELECT e.*, coalesce(to_jsonb(e) ->> 'metadata', to_jsonb(e) ->> 'meta_data') AS said,
           sum(provenance_delta) OVER upto AS provenance,
           sum(consensus_delta) OVER upto AS consensus,
           sum(governance_delta) OVER upto AS governance,
           sum(usage_delta) OVER upto AS usage
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
                   || CASE WHEN said IS JSON OBJECT THEN said::jsonb ELSE '{}' END)
               ORDER BY created_at, id) AS events
      FROM parts
     GROUP BY artifact_id
), tagged AS (
    SELECT artifact_id, array_agg(index_type || ':' || index_value ORDER BY id) AS kinds
      FROM :"source".cognition_memory_index
     GROUP BY artifact_id
), ours AS (
    SELECT row_number() OVER (ORDER BY a.id) / 1000 AS batch,
           jsonb_populate_record(
               new_memory(
                   CASE WHEN result_data IS JSON SCALAR THEN result_data::jsonb #>> '{}'
                        ELSE result_data END,
                   key => memory_ref, tags => kinds, loop => loop_id, component => component,
                   output_type => output_type, domain => domain, category => category,
                   trust => coalesce(trust_score, 'NaN'), trust_provenance => provenance_score,
                   trust_consensus => consensus_score, trust_governance => governance_score,
                   trust_usage => usage_score, trust_curve => decay_curve,
                   trust_half_life_hours => half_life_hours, confidence => confidence,
                   quality_score => quality_score, importance => importance,
                   compliant => constitutional_compliance, requires_approval => requires_approval,
                   violates_policy => tags @> '[{"status": "violation"}]',
                   under_policy_review => tags @> '[{"status": "requires_review"}]',
                   metadata => CASE WHEN said IS JSON OBJECT THEN said::jsonb
                                    ELSE jsonb_strip_nulls(jsonb_build_object(
                                             'meta_data', said)) END
                               || jsonb_strip_nulls(jsonb_build_object(
                                      'policy_tags', nullif(tags, '[]'),
                                      'reasoning_chain_id', reasoning_chain_id,
                                      'verification_envelope_id', verification_envelope_id,
                                      'audit_log_id', audit_log_id)),
                   created_at => coalesce(created_at, '-infinity'),
                   expires_at => coalesce(expires_at, 'infinity')),
               jsonb_strip_nulls(jsonb_build_object(
                   'status', CASE WHEN is_archived THEN 'archived' ELSE 'active' END,
                   'updated_at', coalesce(updated_at, created_at),
                   'invalidated_at', CASE WHEN is_deleted
                                          THEN coalesce(updated_at, created_at, now()) END,
                   'invalidation_reason', CASE WHEN is_deleted THEN 'forgotten' END))) AS memory,
           jsonb_build_object(
               'retrieval_count', access_count, 'success_count', success_count,
               'failure_count', failure_count, 'last_accessed_at', last_accessed_at,
               'events', coalesce(events, '[]')) AS state
      FROM :"source".cognition_memory_artifacts a
      LEFT JOIN events ON events.artifact_id = a.id
      LEFT JOIN tagged ON tagged.artifact_id = a.id
     CROSS JOIN LATERAL (
           SELECT CASE WHEN policy_tags IS JSON ARRAY THEN policy_tags::jsonb ELSE '[]' END
                      AS tags,
                  -- Its tables say metadata, its documents of before meta_data.
                  coalesce(to_jsonb(a) ->> 'metadata', to_jsonb(a) ->> 'meta_data') AS said) given
), batches AS (
    SELECT array_agg(memory) AS memories, array_agg(state) AS states FROM ours GROUP BY batch
)
SELECT r.outcome, count(*) AS memories
  FROM batches b
 -- Memories that are not compliant were stored on purpose.
 CROSS JOIN LATERAL restore_rows(:'agent', b.memories, b.states, check_compliance => false) r
 GROUP BY r.outcome
 ORDER BY r.outcome;
DROP VIEW pg_temp.gc_log;
\if :dry_run
ROLLBACK;
\else
COMMIT;
\endif

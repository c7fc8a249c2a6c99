-- Moves the memories of IBEX Harness in from the same database: its tables memories, memory_labels,
-- memory_relationships (links and supersession) and memory_feedback (history). Deleted rows stay
-- behind. Policies of IBEX hide rows of other organisations, so run it as a role that sees all.
--   psql -f ibex_harness.sql
--   psql -v source=ibex_core -v timezone=UTC -f ibex_harness.sql
-- source: the schema of its tables, ibex_core; timezone: that of times that have none, UTC;
-- schema: pgrecall. All or nothing. It can be repeated: memories that are there stay as they are.

\set ON_ERROR_STOP on
\set QUIET on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?source} \else \set source ibex_core \endif
\if :{?timezone} \else \set timezone UTC \endif
SET TimeZone = :'timezone';
-- The vectors become those of this schema: vector or halfvec.
SELECT t.typname AS vector
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
 WHERE a.attrelid = 'agent_memories'::regclass AND a.attname = 'embedding' \gset
WITH labels AS (
    SELECT memory_id, array_agg(label::text) AS types
      FROM :"source".memory_labels
     GROUP BY memory_id
), links AS (
    SELECT source_memory_id AS memory_id,
           jsonb_agg(jsonb_build_object('target_id', target_memory_id, 'kind', relationship_type,
                                        'weight', confidence)) AS links
      FROM :"source".memory_relationships
     GROUP BY source_memory_id
), successors AS (
    SELECT DISTINCT ON (target_memory_id) target_memory_id AS memory_id,
           source_memory_id AS successor, created_at AS superseded_at
      FROM :"source".memory_relationships
     WHERE relationship_type = 'supersedes'
     ORDER BY target_memory_id, created_at
), events AS (
    SELECT memory_id, jsonb_agg(event) AS events
      FROM (SELECT memory_id, jsonb_build_object(
                       'event_type', 'feedback', 'reason', notes, 'actor', agent_id,
                       'occurred_at', updated_at, 'metadata', jsonb_strip_nulls(jsonb_build_object(
                           'feedback', feedback, 'session_id', session_id, 'trace_id', trace_id)))
                       AS event
              FROM :"source".memory_feedback
             UNION ALL
            SELECT source_memory_id, jsonb_build_object(
                       'event_type', 'linked', 'reason', resolution_notes,
                       'occurred_at', created_at, 'new_values', jsonb_build_object(
                           'target_id', target_memory_id, 'kind', relationship_type,
                           'weight', confidence))
              FROM :"source".memory_relationships) happened
     GROUP BY memory_id
), ours AS (
    SELECT m.agent_id::text AS owner,
           row_number() OVER (PARTITION BY m.agent_id ORDER BY m.id) / 1000 AS batch,
           jsonb_populate_record(
               new_memory(
                   content, id => m.id, embedding => embedding:::"vector",
                   embedding_model => embedding_model, tokens => content_tokens,
                   memory_type => m.category, session => session_id::text,
                   additional_types => array_remove(coalesce(types, '{}'), m.category::text),
                   confidence => confidence, usefulness => usefulness_score,
                   valid_from => valid_from, valid_until => valid_until, observed_at => observed_at,
                   created_at => coalesce(m.created_at, '-infinity'), expires_at => 'infinity',
                   metadata => metadata || jsonb_strip_nulls(jsonb_build_object(
                       'org_id', org_id, 'created_by_user', created_by_user, 'source', source,
                       'pii_detected', nullif(pii_detected, false),
                       'pii_redacted', nullif(pii_redacted, false),
                       'quarantined', nullif(status = 'quarantined', false)))),
               jsonb_build_object(
                   'status', CASE WHEN status IN ('archived', 'quarantined') THEN 'archived'
                                  WHEN status = 'merged_into' THEN 'consolidated'
                                  ELSE 'active' END,
                   'updated_at', m.updated_at)
               || CASE WHEN status = 'superseded' THEN jsonb_build_object(
                           'invalidation_reason', 'superseded',
                           'invalidated_at', coalesce(superseded_at, m.updated_at),
                           'superseded_by', coalesce(superseded_by, successor))
                       ELSE '{}' END) AS memory,
           jsonb_build_object(
               'retrieval_count', retrieval_count, 'last_accessed_at', last_retrieved_at,
               'events', coalesce(events, '[]'),
               'links', coalesce(links, '[]')
                   || CASE WHEN merged_into IS NULL THEN '[]'
                           ELSE jsonb_build_array(jsonb_build_object(
                               'target_id', merged_into, 'kind', 'merged_into')) END) AS state
      FROM :"source".memories m
      LEFT JOIN labels ON labels.memory_id = m.id
      LEFT JOIN links ON links.memory_id = m.id
      LEFT JOIN successors ON successors.memory_id = m.id
      LEFT JOIN events ON events.memory_id = m.id
     WHERE status <> 'deleted' AND deleted_at IS NULL
), batches AS (
    SELECT owner, array_agg(memory) AS memories, array_agg(state) AS states
      FROM ours
     GROUP BY owner, batch
)
SELECT r.outcome, count(*) AS memories, count(DISTINCT b.owner) AS owners
  FROM batches b
 CROSS JOIN LATERAL restore_rows(b.owner, b.memories, b.states) r
 GROUP BY r.outcome
 ORDER BY r.outcome;

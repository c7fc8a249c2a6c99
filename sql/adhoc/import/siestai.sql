-- Moves the memories of Siestai in from the same database: its tables agent_memories, team_memories
-- and, if it exists, adhoc_memories, with ids, vectors and last accesses. Memories of teams become
-- those of teams, the adhoc memories of a user those of an agent with the user's id.
--   psql -v dry_run=on -f siestai.sql
--   psql -v source=siestai -v timezone=Europe/Berlin -f siestai.sql
-- source: the schema of Siestai's tables, public; timezone: that of its times, which have none,
-- UTC; schema: pgrecall. dry_run: shows the rows that would move and those that would stay, and
-- changes nothing. All or nothing. It can be repeated: memories that exist stay as they are.

\set ON_ERROR_STOP on
\set QUIET on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?source} \else \set source public \endif
\if :{?timezone} \else \set timezone UTC \endif
SET TimeZone = :'timezone';
-- The vectors become those of this schema: vector or halfvec.
SELECT t.typname AS vector
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
 WHERE a.attrelid = 'agent_memories'::regclass AND a.attname = 'embedding' \gset
\if :{?dry_run} \else \set dry_run off \endif
SELECT to_regclass(format('%I.adhoc_memories', :'source')) IS NOT NULL AS has_adhoc \gset
BEGIN;
\if :has_adhoc
CREATE TEMPORARY VIEW adhoc AS SELECT * FROM :"source".adhoc_memories;
\else
CREATE TEMPORARY VIEW adhoc AS
    SELECT NULL AS user_id, id, content, embedding, memory_type, importance, created_at,
           last_accessed_at
      FROM :"source".agent_memories WHERE false;
\endif
-- The memories of such a user would become those of a team.
SELECT require(
           count(*) = 0,
           'a user_id of adhoc_memories begins with team:, which is kept for teams')
  FROM adhoc WHERE user_id LIKE 'team:%' \gset
CREATE TEMPORARY VIEW theirs AS
    -- Siestai's documentation has a status that its published tables lack, and they have columns
    -- that the documentation lacks: if a table has no such column, the name means that of `absent`.
    SELECT m.*
      FROM (VALUES ('active', NULL::uuid, NULL::uuid, NULL::jsonb))
           absent(status, source_session_id, created_by_agent_id, participant_agent_ids)
     CROSS JOIN LATERAL (
           SELECT agent_id::text AS owner, id, content, embedding, memory_type, source_session_id,
                  importance, created_at, last_accessed_at, status::text AS status,
                  '{}'::jsonb AS metadata
             FROM :"source".agent_memories
            UNION ALL
           SELECT 'team:' || team_id, id, content, embedding, memory_type, source_session_id,
                  importance, created_at, last_accessed_at, status::text,
                  jsonb_strip_nulls(jsonb_build_object('created_by_agent_id', created_by_agent_id))
             FROM :"source".team_memories
            UNION ALL
           SELECT user_id, id, content, embedding, memory_type, source_session_id,
                  importance, created_at, last_accessed_at, status::text,
                  jsonb_strip_nulls(jsonb_build_object(
                      'participant_agent_ids', participant_agent_ids))
             FROM adhoc) m;
\if :dry_run
\echo Found:
WITH said AS (
    SELECT t.*, EXISTS (SELECT FROM agent_memories m WHERE m.agent_id = owner AND m.id = t.id)
                    AS is_there
      FROM theirs t
), found AS (
    SELECT 1 AS place, 'memories of agents' AS what, count(*) AS rows,
           'become memories of agents' AS outcome
      FROM said WHERE NOT is_there AND owner NOT LIKE 'team:%'
     UNION ALL
    SELECT 2, 'memories of teams', count(*), 'become memories of teams'
      FROM said WHERE NOT is_there AND owner LIKE 'team:%'
     UNION ALL
    SELECT 3, 'of these, not active', count(*), 'keep their status, and are not found'
      FROM said WHERE NOT is_there AND status <> 'active'
     UNION ALL
    SELECT 4, 'of these, without an embedding', count(*), 'are not found until they have one'
      FROM said WHERE NOT is_there AND embedding IS NULL
     UNION ALL
    SELECT 5, 'memories that are there already', count(*), 'stay behind' FROM said WHERE is_there
)
SELECT what, rows, outcome FROM found WHERE rows > 0 ORDER BY place;
\echo Would be:
\endif
WITH ours AS (
    SELECT owner, row_number() OVER (PARTITION BY owner ORDER BY id) / 1000 AS batch,
           jsonb_populate_record(
               new_memory(content, id => id, embedding => embedding:::"vector",
                          memory_type => memory_type, importance => importance,
                          session => source_session_id::text, metadata => metadata,
                          created_at => coalesce(created_at, '-infinity'),
                          expires_at => 'infinity'),
               jsonb_build_object('status', status)) AS memory,
           -- It is created_at until the first access.
           jsonb_build_object('last_accessed_at', nullif(last_accessed_at, created_at)) AS state
      FROM theirs
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
DROP VIEW pg_temp.theirs, pg_temp.adhoc;
\if :dry_run
ROLLBACK;
\else
COMMIT;
\endif

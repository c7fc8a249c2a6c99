-- Moves the memories of RadarOS (Agentium) in from the same database: facts about users, entities
-- and learnings, from its table kv_store, and the vectors of learnings. Rows of a user become the
-- memories of an agent with the user's id; rows that agents, tenants or all share become those of
-- teams.
--   psql -f radaros.sql
--   psql -v source=agentium -v learnings=agentium_learnings -f radaros.sql
-- source: the schema of its tables, public; learnings: the table with the vectors of learnings,
-- which is optional, agentium_learnings; schema: pgrecall. All or nothing. It can be repeated:
-- memories that exist stay as they are.

\set ON_ERROR_STOP on
\set QUIET on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?source} \else \set source public \endif
\if :{?learnings} \else \set learnings agentium_learnings \endif
-- The vectors become those of this schema: vector or halfvec.
SELECT t.typname AS vector,
       to_regclass(format('%I.%I', :'source', :'learnings')) IS NOT NULL AS has_vectors
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
 WHERE a.attrelid = 'agent_memories'::regclass AND a.attname = 'embedding' \gset
-- The memories of such a user would become those of a team.
SELECT require(count(*) = 0, 'the id of a user begins with team:, which is kept for teams')
  FROM :"source".kv_store
 WHERE namespace = 'memory:user-facts' AND key LIKE 'team:%'
    OR namespace LIKE 'memory:entities:%:user:team:%'
    OR namespace = 'memory:learnings' AND value ->> 'userId' LIKE 'team:%' \gset
BEGIN;
\if :has_vectors
CREATE TEMPORARY VIEW vectors AS
    SELECT id, embedding:::"vector" AS embedding FROM :"source".:"learnings";
\else
CREATE TEMPORARY VIEW vectors AS SELECT NULL AS id, NULL:::"vector" AS embedding;
\endif
WITH entities AS (
    -- Namespaces are memory:entities:<name>:user:<user>; those of old versions name no user.
    SELECT coalesce(substring(namespace FROM ':user:(.*)$'), 'team:global') AS owner,
           'entity:' || key AS entity, value
      FROM :"source".kv_store
     WHERE namespace LIKE 'memory:entities:%'
), theirs AS (
    SELECT key AS owner, 'fact' AS memory_type, fact ->> 'id' AS id, fact ->> 'fact' AS content,
           fact AS value, fact ->> 'subject' AS subject, fact -> 'topics' AS tags,
           jsonb_build_object('source', fact -> 'source', 'input', fact -> 'input') AS metadata,
           NULL AS entity, '[]'::jsonb AS links
      FROM :"source".kv_store CROSS JOIN LATERAL jsonb_array_elements(value) fact
     WHERE namespace = 'memory:user-facts'
     UNION ALL
    SELECT owner, 'entity', entity, concat_ws(': ', value ->> 'name',
                                              nullif(value ->> 'description', '')),
           value, value ->> 'name', NULL,
           jsonb_build_object('entity_type', value -> 'entityType',
                              'properties', value -> 'properties'),
           value ->> 'name', (
           SELECT coalesce(jsonb_agg(jsonb_build_object(
                      'kind', r ->> 'type',
                      'target_id', id_of_key(owner, 'entity:' || (r ->> 'targetEntityId')))), '[]')
             FROM jsonb_array_elements(value -> 'relationships') r)
      FROM entities
     UNION ALL
    -- Facts about an entity link to it.
    SELECT owner, said.memory_type, said.value ->> 'id', said.value ->> said.field, said.value,
           entities.value ->> 'name', NULL, jsonb_build_object('date', said.value -> 'date'),
           entities.value ->> 'name', jsonb_build_array(jsonb_build_object(
               'kind', 'about', 'target_id', id_of_key(owner, entity)))
      FROM entities
     CROSS JOIN LATERAL (
           SELECT 'entity_fact' AS memory_type, 'fact' AS field, value
             FROM jsonb_array_elements(entities.value -> 'facts')
            UNION ALL
           SELECT 'entity_event', 'event', value
             FROM jsonb_array_elements(entities.value -> 'events')) said
     UNION ALL
    SELECT CASE coalesce(value ->> 'scope', 'user')
                WHEN 'user' THEN value ->> 'userId'
                WHEN 'agent' THEN 'team:' || (value ->> 'agentName')
                WHEN 'tenant' THEN 'team:' || (value ->> 'tenantId')
                ELSE 'team:global' END,
           'learning', key, concat_ws(': ', value ->> 'title', value ->> 'content'), value, NULL,
           value -> 'tags',
           jsonb_build_object('title', value -> 'title', 'context', value -> 'context',
                              'namespace', value -> 'namespace'),
           NULL, '[]'
      FROM :"source".kv_store
     WHERE namespace = 'memory:learnings'
), ours AS (
    SELECT owner, row_number() OVER (PARTITION BY owner ORDER BY memory_type, t.id) / 1000 AS batch,
           jsonb_populate_record(
               new_memory(
                   content, memory_type => memory_type, subject => subject,
                   -- An id that is no UUID is a key.
                   id => CASE WHEN pg_input_is_valid(t.id, 'uuid') THEN t.id::uuid END,
                   key => CASE WHEN NOT pg_input_is_valid(t.id, 'uuid') THEN t.id END,
                   embedding => vectors.embedding,
                   tags => ARRAY(SELECT jsonb_array_elements_text(t.tags)),
                   entities => array_remove(ARRAY[entity], NULL),
                   importance => (value ->> 'importance')::float8,
                   metadata => jsonb_strip_nulls(metadata),
                   created_at => coalesce((value ->> 'createdAt')::timestamptz, '-infinity'),
                   valid_from => (value ->> 'validFrom')::timestamptz, expires_at => 'infinity'),
               jsonb_strip_nulls(jsonb_build_object(
                   'invalidated_at', value -> 'invalidatedAt',
                   'invalidation_reason', value -> 'invalidationReason',
                   'updated_at', value -> 'updatedAt'))) AS memory,
           jsonb_build_object('links', links) AS state
      FROM theirs t
      LEFT JOIN vectors ON memory_type = 'learning' AND vectors.id = t.id
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
DROP VIEW pg_temp.vectors;
COMMIT;

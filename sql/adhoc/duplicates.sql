-- Duplicates among the memories of an agent that are active and valid now: exact (equal except for
-- case, white space and Unicode form) and near (similarity above a threshold). Exact ones differ in
-- type, component or place in a session, have keys, or were stored with duplicates='allow'.
--   psql -v agent=agent-1 -f duplicates.sql
--   psql -v agent=agent-1 -v threshold=0.85 -v newest=20000 -v limit=200 -f duplicates.sql
-- threshold: 0.92; newest: 1000; limit: 50; schema: pgrecall. The search for near duplicates is
-- exact: it compares each of the newest memories with all of the agent's, so the cost is the
-- product of the two (1,000 newest of 20,000 memories, 256 dimensions: 10 s).

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', pg_temp', false) AS search_path \gset
\if :{?agent} \else
DO $$ BEGIN RAISE EXCEPTION 'agent is not set: psql -v agent=… -f duplicates.sql'; END $$;
\endif
\if :{?threshold} \else \set threshold 0.92 \endif
\if :{?newest} \else \set newest 1000 \endif
\if :{?limit} \else \set limit 50 \endif

\echo Exact duplicates:
SELECT count(*) AS copies,
       date_trunc('second', min(m.created_at)) AS first_created,
       date_trunc('second', max(m.created_at)) AS last_created,
       (array_agg(m.id ORDER BY m.created_at, m.id))[1 : 10] AS ids,
       regexp_replace(left(min(m.content), 80), '[[:space:]]+', ' ', 'g') AS content
  FROM agent_memories m
 WHERE m.agent_id = :'agent' AND m.status = 'active'
   AND is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now())
 GROUP BY m.content_hash
HAVING count(*) > 1
 ORDER BY copies DESC, min(m.created_at), m.content_hash
 LIMIT :'limit'::bigint;

\echo Near duplicates:
WITH newest AS MATERIALIZED (
    SELECT m.id, m.embedding, m.content_hash
      FROM agent_memories m
     WHERE m.agent_id = :'agent' AND m.status = 'active' AND m.embedding IS NOT NULL
       AND is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now())
     ORDER BY m.created_at DESC NULLS LAST, m.id DESC
     LIMIT :'newest'::bigint
), every AS MATERIALIZED (  -- read once: not for each of the newest
    SELECT o.id, o.embedding, o.content_hash
      FROM agent_memories o
     WHERE o.agent_id = :'agent' AND o.status = 'active' AND o.embedding IS NOT NULL
       AND is_valid(o.valid_from, o.valid_until, o.invalidated_at, o.expires_at, now())
), pairs AS (
    SELECT DISTINCT greatest(m.id, o.id) AS newer, least(m.id, o.id) AS older, n.similarity
      FROM newest m
      JOIN every o ON o.content_hash <> m.content_hash,
           LATERAL (SELECT similarity(o.embedding, m.embedding, NULL) AS similarity) n
     WHERE n.similarity > :'threshold'::float8
     ORDER BY n.similarity DESC, newer, older
     LIMIT :'limit'::bigint
)
SELECT round(p.similarity::numeric, 4) AS similarity, p.newer, p.older,
       regexp_replace(left(m.content, 60), '[[:space:]]+', ' ', 'g') AS newer_content,
       regexp_replace(left(n.content, 60), '[[:space:]]+', ' ', 'g') AS older_content
  FROM pairs p,  -- OFFSET 0: each is looked up by its key
       LATERAL (SELECT o.content FROM agent_memories o
                 WHERE o.agent_id = :'agent' AND o.id = p.newer OFFSET 0) m,
       LATERAL (SELECT o.content FROM agent_memories o
                 WHERE o.agent_id = :'agent' AND o.id = p.older OFFSET 0) n
 ORDER BY p.similarity DESC, p.newer, p.older;

-- Memories of an agent that were never retrieved, or not for some days, longest unused first. Only
-- those that recall could still return: active and valid now.
--   psql -v agent=agent-1 -f unused_memories.sql
--   psql -v agent=agent-1 -v days=90 -v limit=200 -f unused_memories.sql
-- days: 30; limit: 50; schema: pgrecall. A memory never retrieved counts from its creation, and
-- one whose creation is unknown comes first. Reads every memory of the agent once.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?agent} \else
DO $$ BEGIN RAISE EXCEPTION 'agent is not set: psql -v agent=… -f unused_memories.sql'; END $$;
\endif
\if :{?days} \else \set days 30 \endif
\if :{?limit} \else \set limit 50 \endif
SELECT m.id,
       floor(date_part('epoch', now() - coalesce(u.last_accessed_at, m.created_at)) / 86400)
           AS days_unused,
       u.last_accessed_at IS NULL AS never_retrieved,
       coalesce(u.retrieval_count, 0) AS retrievals,
       date_trunc('second', u.last_accessed_at) AS last_accessed_at,
       date_trunc('second', m.created_at) AS created_at,
       m.tier, m.memory_type,
       round(m.importance::numeric, 2) AS importance,
       regexp_replace(left(m.content, 80), '[[:space:]]+', ' ', 'g') AS content
  FROM (SELECT * FROM agent_memories
         WHERE agent_id = :'agent' AND status = 'active'
           AND is_valid(valid_from, valid_until, invalidated_at, expires_at, now())) m
  FULL JOIN (SELECT * FROM memory_usage WHERE agent_id = :'agent') u ON u.memory_id = m.id
 WHERE CASE WHEN m.id IS NULL THEN false ELSE u.last_accessed_at IS NULL
        OR u.last_accessed_at < now() - make_interval(secs => 86400 * :'days'::float8) END
 ORDER BY coalesce(u.last_accessed_at, m.created_at) NULLS FIRST, m.id
 LIMIT :'limit'::bigint;

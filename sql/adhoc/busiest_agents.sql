-- The agents with the most memories, the most retrievals or the latest access; teams are
-- listed as team:<id>.
--   psql -f busiest_agents.sql
--   psql -v by=memories -v limit=50 -f busiest_agents.sql
-- by: retrievals (default), memories or last_access; limit: 20; schema: pgrecall. Reads the keys of
-- agent_memories and all of memory_usage, but no vector.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?by} \else \set by retrievals \endif
\if :{?limit} \else \set limit 20 \endif
SELECT :'by' = ANY ('{retrievals,memories,last_access}') AS known \gset
\if :known \else
DO $$ BEGIN RAISE EXCEPTION 'unknown by; there are retrievals, memories, last_access'; END $$;
\endif
SELECT agent_id, memories, retrieved_memories, retrievals,
       date_trunc('second', last_access) AS last_access
  FROM (SELECT m.agent_id,
               count(*) AS memories,
               count(*) FILTER (WHERE u.retrieval_count > 0) AS retrieved_memories,
               coalesce(sum(u.retrieval_count), 0) AS retrievals,
               max(u.last_accessed_at) AS last_access
          FROM agent_memories m
          LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
         GROUP BY m.agent_id) owners
 ORDER BY CASE :'by' WHEN 'retrievals' THEN retrievals
                     WHEN 'memories' THEN memories
                     ELSE date_part('epoch', last_access)::numeric END DESC NULLS LAST,
          memories DESC, agent_id
 LIMIT :'limit'::bigint;

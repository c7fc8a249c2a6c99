-- The best memories of an agent for a query, with each signal: the result of recall now, or at
-- as_of. The query is a vector, or the id of a memory (like) to find similar ones, or neither.
--   psql -v agent=agent-1 -v like=019aa0e2-… -f top_memories.sql
--   psql -v agent=agent-1 -v query='[0.1, …]' -v profile=trust -v k=5 -v as_of=2026-11-01 \
--        -f top_memories.sql
-- profile: that of the database (default) or any other that is installed; k: 10; as_of: now;
-- query_entities='{Ines,Oslo}': none; query_text='great fire': none; schema: pgrecall. It takes
-- about 15 ms for 10,000 memories; with a rank index, for any number.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?agent} \else
DO $$ BEGIN RAISE EXCEPTION 'agent is not set: psql -v agent=… -f top_memories.sql'; END $$;
\endif
\if :{?profile} \set ranked_by :profile \else
SELECT default_profile() AS ranked_by \gset
\endif
\if :{?k} \else \set k 10 \endif
\if :{?as_of} \else \set as_of '' \endif
\if :{?query_entities} \else \set query_entities '' \endif
\if :{?query_text} \else \set query_text '' \endif
\if :{?like}
SELECT embedding AS query FROM agent_memories
 WHERE agent_id = :'agent' AND id = :'like'
UNION ALL
SELECT NULL
 LIMIT 1 \gset
\if :{?query} \else
DO $$ BEGIN
    RAISE EXCEPTION 'like must be the id of a memory of this agent that has an embedding';
END $$;
\endif
\endif
SELECT row_number() OVER best AS rank,
       id,
       round(score::numeric, 6) AS score,
       round(similarity::numeric, 4) AS similarity,
       (SELECT string_agg(format('%s %s', s.key, round(s.value::numeric, 4)), ', ' ORDER BY s.key)
          FROM jsonb_each_text(signals) s) AS signals,
       memory_type,
       date_trunc('second', created_at) AS created_at,
       regexp_replace(left(content, 80), '[[:space:]]+', ' ', 'g') AS content
  FROM recall(
           agent => :'agent',
           profile => :'ranked_by',
           query_text => nullif(:'query_text', ''),
\if :{?query}
           query => :'query',
\endif
\if :{?like}
           k => :'k'::integer + 1,
\else
           k => :'k'::integer,
\endif
           as_of => nullif(:'as_of', '')::timestamptz,
           query_entities => nullif(:'query_entities', '')::text[])
\if :{?like}
 WHERE id <> :'like'
\endif
WINDOW best AS (ORDER BY score DESC, id)
 ORDER BY rank
 LIMIT :'k'::integer;

-- Otherwise it would stay set for the next script of the session.
\if :{?like} \unset query \endif

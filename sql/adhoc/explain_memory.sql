-- One memory: its fields, its score and rank for a query or the reason that excludes it, and the
-- value, weight and contribution of each signal.
--   psql -v agent=agent-1 -v memory=019aa0e2-… -v like=019aa0e3-… -f explain_memory.sql
--   psql -v agent=agent-1 -v memory=019aa0e2-… -v query='[0.1, …]' -v profile=trust \
--        -v as_of=2026-11-01 -f explain_memory.sql
-- profile: that of the database (default) or any other that is installed; query or like: the query
-- vector, none; as_of: now; query_entities='{Ines,Oslo}': none; query_text='great fire': none;
-- schema: pgrecall. Scores every memory of the agent: about 0.2 s for 10,000.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?agent} \else
DO $$ BEGIN RAISE EXCEPTION 'agent is not set: psql -v agent=… -f explain_memory.sql'; END $$;
\endif
\if :{?memory} \else
DO $$ BEGIN RAISE EXCEPTION 'memory is not set: psql -v memory=… -f explain_memory.sql'; END $$;
\endif
\if :{?profile} \set ranked_by :profile \else
SELECT default_profile() AS ranked_by \gset
\endif
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
SELECT EXISTS (SELECT FROM agent_memories
                WHERE agent_id = :'agent' AND id = :'memory') AS found \gset
\if :found \else
DO $$ BEGIN RAISE EXCEPTION 'memory must be the id of a memory of this agent'; END $$;
\endif

\echo Memory:
SELECT m.id, m.memory_type, m.tier, m.status, m.created_at, m.valid_from, m.valid_until,
       m.expires_at, m.invalidated_at, m.invalidation_reason, m.superseded_by,
       m.embedding IS NOT NULL AS embedded,
       coalesce(u.retrieval_count, 0) AS retrievals, u.last_accessed_at,
       regexp_replace(left(m.content, 80), '[[:space:]]+', ' ', 'g') AS content
  FROM agent_memories m
  LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
 WHERE m.agent_id = :'agent' AND m.id = :'memory';

SELECT rank AS place, ranked, returned, score, reasons, signals
  FROM explain(
           agent => :'agent',
           memory_id => :'memory',
           profile => :'ranked_by',
           query_text => nullif(:'query_text', ''),
\if :{?query}
           query => :'query',
\endif
           k => 1000000,
           as_of => nullif(:'as_of', '')::timestamptz,
           query_entities => nullif(:'query_entities', '')::text[]) \gset

\echo Rank:
SELECT :'ranked_by' AS profile,
       round(:'score'::numeric, 6) AS score,
       :'returned'::boolean AS recalled,
       :'place'::bigint AS rank,
       :'ranked'::bigint AS of_memories,
       nullif(array_to_string(:'reasons'::text[], '; '), '') AS filtered_by;

\echo Signals:
SELECT signal,
       round(value::numeric, 6) AS value,
       weight,
       round(contribution::numeric, 6) AS contribution,
       round((100 * share)::numeric, 1) AS percent_of_score
  FROM jsonb_to_recordset(:'signals'::jsonb) AS s(
           signal text, value float8, weight float8, contribution float8, share float8)
 ORDER BY s.contribution DESC, signal;

-- Otherwise it would stay set for the next script of the session.
\if :{?like} \unset query \endif

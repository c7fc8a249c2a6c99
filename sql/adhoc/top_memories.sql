-- The best memories of an agent for a query, with each signal: what a recall would return now,
-- or at as_of. The query is a vector, or the id of a memory to be "more like"; or neither.
--   psql -v agent=agent-1 -v like=019aa0e2-… -f top_memories.sql
--   psql -v agent=agent-1 -v query='[0.1, …]' -v profile=trust -v k=5 -v as_of=2026-11-01 \
--        -f top_memories.sql
-- profile: five_factor (default), last_access, half_life, trust, tiered or hybrid; k: 10; as_of: now;
-- query_entities='{Ines,Oslo}': none;
-- query_text='great fire': none, for hybrid; schema: pgrecall. Scores every memory of the agent:
-- about 15 ms for 10,000.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?agent} \else
DO $$ BEGIN RAISE EXCEPTION 'agent is not set: psql -v agent=… -f top_memories.sql'; END $$;
\endif
\if :{?profile} \else \set profile five_factor \endif
\if :{?k} \else \set k 10 \endif
\if :{?as_of} \else \set as_of '' \endif
\if :{?query_entities} \else \set query_entities '' \endif
\if :{?query_text} \else \set query_text '' \endif
SELECT :'profile' = ANY ('{five_factor,last_access,half_life,trust,tiered,hybrid}') AS known \gset
\if :known \else
DO $$ BEGIN
    RAISE EXCEPTION 'unknown profile; there are five_factor, last_access, half_life, trust, tiered, hybrid';
END $$;
\endif
SELECT :'profile' = 'five_factor' AS is_five_factor,
       :'profile' = 'last_access' AS is_last_access,
       :'profile' = 'half_life' AS is_half_life,
       :'profile' = 'trust' AS is_trust,
       :'profile' = 'tiered' AS is_tiered,
       :'profile' = 'hybrid' AS is_hybrid \gset
\if :{?like}
SELECT embedding AS query FROM agent_memories
 WHERE agent_id = :'agent' AND id = :'like'
UNION ALL
SELECT NULL
 LIMIT 1 \gset
\if :{?query} \else
DO $$ BEGIN RAISE EXCEPTION 'like is no memory of this agent, or one without an embedding'; END $$;
\endif
\endif
SELECT row_number() OVER best AS rank,
       id,
       round(score::numeric, 6) AS score,
       round(similarity::numeric, 4) AS similarity,
       round(signal_recency::numeric, 4) AS recency,
\if :is_five_factor
       round(signal_usefulness::numeric, 4) AS usefulness,
       round(signal_confidence::numeric, 4) AS confidence,
       round(signal_frequency::numeric, 4) AS frequency,
\elif :is_trust
       round(signal_trust::numeric, 4) AS trust,
       round(signal_importance::numeric, 4) AS importance,
\elif :is_hybrid
       round(signal_keyword::numeric, 4) AS keyword,
       round(signal_importance::numeric, 4) AS importance,
\elif :is_tiered
       round(signal_importance::numeric, 4) AS importance,
       round(signal_frequency::numeric, 4) AS frequency,
       round(signal_usefulness::numeric, 4) AS usefulness,
       round(signal_entity_overlap::numeric, 4) AS entity_overlap,
\else
       round(signal_importance::numeric, 4) AS importance,
\endif
       memory_type,
       date_trunc('second', created_at) AS created_at,
       regexp_replace(left(content, 80), '[[:space:]]+', ' ', 'g') AS content
\if :is_five_factor
  FROM recall_five_factor(
\elif :is_last_access
  FROM recall_last_access(
\elif :is_half_life
  FROM recall_half_life(
\elif :is_trust
  FROM recall_trust(
\elif :is_tiered
  FROM recall_tiered(
\elif :is_hybrid
  FROM recall_hybrid(
\endif
           agent => :'agent',
\if :is_hybrid
           query_text => nullif(:'query_text', ''),
\endif
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

-- Set from like, it would outlive it in a session that runs several scripts.
\if :{?like} \unset query \endif

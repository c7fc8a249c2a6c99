-- One memory: what it is, its score and rank for a query, or by what it is filtered out, and each
-- signal's value, weight and contribution to the score.
--   psql -v agent=agent-1 -v memory=019aa0e2-… -v like=019aa0e3-… -f explain_memory.sql
--   psql -v agent=agent-1 -v memory=019aa0e2-… -v query='[0.1, …]' -v profile=trust \
--        -v as_of=2026-11-01 -f explain_memory.sql
-- profile: five_factor (default), last_access, half_life, trust, tiered or hybrid; without query and like
-- it is ranked without a query vector; as_of: now; query_entities='{Ines,Oslo}': none;
-- query_text='great fire': none, for hybrid;
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
\if :{?profile} \else \set profile five_factor \endif
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
SELECT EXISTS (SELECT FROM agent_memories
                WHERE agent_id = :'agent' AND id = :'memory') AS found \gset
\if :found \else
DO $$ BEGIN RAISE EXCEPTION 'memory is no memory of this agent'; END $$;
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

-- Asked twice: for all that a recall ranks, and for this memory whatever would filter it out. The
-- second narrows by created_at to stay cheap, and has no as_of before the memory's creation: every
-- clock later than as_of has age 0 anyway.
WITH memory AS (
    SELECT m.*, coalesce(nullif(:'as_of', '')::timestamptz, now()) AS moment,
           nullif(:'as_of', '')::timestamptz AS asked
      FROM agent_memories m
     WHERE m.agent_id = :'agent' AND m.id = :'memory'
), scored AS MATERIALIZED (
    SELECT alone, r.id, r.score,
           CASE WHEN alone AND r.id = m.id THEN to_jsonb(r) - 'content' END AS signals
      FROM memory m, (VALUES (false), (true)) ways(alone), LATERAL
\if :is_five_factor
           recall_five_factor(
\elif :is_last_access
           recall_last_access(
\elif :is_half_life
           recall_half_life(
\elif :is_trust
           recall_trust(
\elif :is_tiered
           recall_tiered(
\elif :is_hybrid
           recall_hybrid(
\endif
               agent => :'agent',
\if :is_hybrid
               query_text => nullif(:'query_text', ''),
\endif
\if :{?query}
               query => CASE WHEN alone AND m.embedding IS NULL THEN m.embedding
                              ELSE :'query' END,
\endif
               k => 2147483647,
               as_of => CASE WHEN alone AND asked IS NOT NULL
                             THEN greatest(asked, m.created_at) ELSE asked END,
               created_after => CASE WHEN alone THEN m.created_at END,
               created_before => CASE WHEN alone THEN m.created_at + interval '1 microsecond' END,
               statuses => CASE WHEN alone THEN ARRAY[m.status] ELSE '{active}' END,
               include_invalid => alone,
               query_entities => nullif(:'query_entities', '')::text[]) r
), own AS (
    SELECT id, score, signals FROM scored WHERE alone AND signals IS NOT NULL
)
SELECT own.signals, own.score,
       (SELECT count(*) FROM scored s WHERE NOT s.alone) AS ranked,
       (SELECT 1 + count(*) FROM scored s
         WHERE NOT s.alone AND (s.score > own.score OR s.score = own.score AND s.id < own.id)
       ) AS rank,
       CASE WHEN EXISTS (SELECT FROM scored s WHERE NOT s.alone AND s.id = own.id) THEN ''
            ELSE concat_ws('; ',
                CASE WHEN m.status <> 'active' THEN 'status is ' || m.status END,
                CASE WHEN m.valid_from > moment THEN 'valid only from ' || m.valid_from END,
                CASE WHEN m.valid_until <= moment THEN 'valid only until ' || m.valid_until END,
                CASE WHEN m.invalidated_at <= moment
                     THEN coalesce(m.invalidation_reason, 'invalidated') || ' at '
                          || m.invalidated_at END,
                CASE WHEN m.expires_at <= moment THEN 'expired at ' || m.expires_at END,
                CASE WHEN m.created_at > asked
                     THEN 'created after as_of, at ' || m.created_at END,
\if :{?query}
                CASE WHEN m.embedding IS NULL AND :'is_last_access'
                     THEN 'has no embedding, which this profile requires' END,
\endif
                NULL) END AS filtered_by
  FROM memory m, own \gset

\echo Rank:
SELECT :'profile' AS profile,
       round(:'score'::numeric, 6) AS score,
       :'filtered_by' = '' AS recalled,
       :'rank'::bigint AS rank,
       :'ranked'::bigint AS of_memories,
       nullif(:'filtered_by', '') AS filtered_by;

\echo Signals:
SELECT name AS signal,
       round(value::numeric, 6) AS value,
       weight,
       round((weight * value)::numeric, 6) AS contribution,
       round((100 * weight * value / nullif(:'score'::float8, 0))::numeric, 1) AS percent_of_score
  FROM (SELECT replace(argument.name, '_weight', '') AS name,
               pg_get_function_arg_default(p.oid, argument.number::integer)::float8 AS weight
          FROM pg_proc p,
               unnest(p.proargnames) WITH ORDINALITY argument(name, number)
         WHERE p.pronamespace = quote_ident(:'schema')::regnamespace
           AND p.proname = 'recall_' || :'profile'
           AND argument.name LIKE '%\_weight') weights,
       LATERAL (SELECT (:'signals'::jsonb ->> ('signal_' || name))::float8) AS s(value)
 ORDER BY weight * value DESC, name;

-- Set from like, it would outlive it in a session that runs several scripts.
\if :{?like} \unset query \endif

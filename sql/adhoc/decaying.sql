-- Memories whose trust or recency will fall below a threshold in the next days, so that you can
-- confirm or archive them in time. Recency is that of a profile.
--   psql -v agent=agent-1 -f decaying.sql
--   psql -v agent=agent-1 -v threshold=0.2 -v days=14 -v profile=tiered -f decaying.sql
-- threshold: 0.5; days: 7; profile: that of the database (default) or any other with recency;
-- limit: 100; schema: pgrecall. Reads every memory of the agent twice.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', ' || extnamespace::regnamespace, false) AS search_path
  FROM pg_catalog.pg_extension WHERE extname = 'vector' \gset
\if :{?agent} \else
DO $$ BEGIN RAISE EXCEPTION 'agent is not set: psql -v agent=… -f decaying.sql'; END $$;
\endif
\if :{?threshold} \else \set threshold 0.5 \endif
\if :{?days} \else \set days 7 \endif
\if :{?profile} \set ranked_by :profile \else
SELECT default_profile() AS ranked_by \gset
\endif
\if :{?limit} \else \set limit 100 \endif
WITH ways AS (
    SELECT later, now() + CASE WHEN later THEN make_interval(secs => 86400 * :'days'::float8)
                               ELSE interval '0' END AS moment
      FROM (VALUES (false), (true)) ways(later)
), recency AS (
    SELECT r.id, later, (r.signals -> 'recency')::float8 AS value
      FROM ways, LATERAL recall(
           :'agent', profile => :'ranked_by', k => 1000000, as_of => moment,
          include_invalid => later) r
), trust AS (
    SELECT m.id, later, decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve,
                                      m.trust_half_life_hours, NULL) AS value
      FROM ways CROSS JOIN (
           (SELECT * FROM agent_memories
             WHERE agent_id = :'agent' AND status = 'active'
               AND is_valid(valid_from, valid_until, invalidated_at, expires_at, now())) m
           FULL JOIN (SELECT * FROM memory_usage WHERE agent_id = :'agent') u
               ON u.memory_id = m.id)
     WHERE CASE WHEN m.id IS NULL THEN false ELSE true END
), falling AS (
    SELECT signal, id, min(value) FILTER (WHERE NOT later) AS now,
           min(value) FILTER (WHERE later) AS later
      FROM (SELECT 'recency' AS signal, * FROM recency
            UNION ALL
            SELECT 'trust', * FROM trust) signals
     GROUP BY signal, id
    HAVING min(value) FILTER (WHERE NOT later) >= :'threshold'::float8
       AND min(value) FILTER (WHERE later) < :'threshold'::float8
)
SELECT f.signal,
       round(f.now::numeric, 4) AS now,
       round(f.later::numeric, 4) AS later,
       m.id, m.tier, m.memory_type,
       regexp_replace(left(m.content, 80), '[[:space:]]+', ' ', 'g') AS content
  FROM falling f
  JOIN agent_memories m ON m.agent_id = :'agent' AND m.id = f.id
 ORDER BY f.later, f.signal, m.id
 LIMIT :'limit'::bigint;

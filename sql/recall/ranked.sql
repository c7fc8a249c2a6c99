-- migrate/ranked_function.py fills in what stands between two @, from the profiles of the database.
-- These functions are inlined: a statement that calls them reads plain tables, and its own WHERE,
-- ORDER BY and LIMIT decide the plan. Names are bound when a function is created, so that it needs
-- no search_path, with which it could not be inlined.
--
-- A subquery that has an order is not merged with the statement around it, so each signal is
-- computed once, and not again for the score. An order by a constant sorts nothing, and conditions
-- are pushed into the subquery.

-- An argument of a function and a column that it returns may not have the same name, unless the
-- columns are those of a type.
CREATE OR REPLACE VIEW _ranked WITH (security_invoker = true) AS
SELECT @record but embedding, last_accessed_at: r.{}@,
       r.last_accessed_at, NULL::float8 AS score,
       @signal_columns@
  FROM memory_records r
 WHERE false;

COMMENT ON VIEW _ranked IS
    'The columns of ranked and recall. It has no rows.';

DO $$
DECLARE
    named record;
BEGIN
    FOR named IN
        SELECT r.attname AS column, coalesce(
                   col_description('memory_records'::regclass, m.attnum),
                   CASE WHEN r.attname = 'score' THEN 'The score by the profile.'
                        ELSE 'The signal of this name, in [0, 1]; NULL: the profile has none.' END)
               AS comment
          FROM pg_attribute r
          LEFT JOIN pg_attribute m
            ON m.attrelid = 'memory_records'::regclass AND m.attname = r.attname
         WHERE r.attrelid = '_ranked'::regclass AND r.attnum > 0 LOOP
        EXECUTE format('COMMENT ON COLUMN _ranked.%I IS %L', named.column, named.comment);
    END LOOP;
END
$$;

-- Joins that nothing reads vanish from the plan, since each joined relation has one row for a key.
CREATE OR REPLACE FUNCTION matched(
    agents text[], query agent_memories.embedding%TYPE DEFAULT NULL, keywords text DEFAULT NULL,
    given_entities text[] DEFAULT NULL, period_from timestamptz DEFAULT NULL,
    period_to timestamptz DEFAULT NULL, as_of timestamptz DEFAULT NULL,
    centering float8 DEFAULT 0, subjects boolean DEFAULT true)
    RETURNS TABLE (
    @table: {} agent_memories.{}%TYPE@,
    @matched_columns@)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
@matched@;
END;

COMMENT ON FUNCTION matched IS
    'Returns the memories of these agents, whatever their state, with their usage and with what a '
    'query has to do with each: the values that signals are made of. given_entities: those of the '
    'query, instead of the names in keywords. centering: the share of the agent''s mean embedding '
    'that is taken off the query. subjects: the subject of a memory is one of its entities.';

CREATE OR REPLACE FUNCTION _weight(weights jsonb, name text, otherwise float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN weights IS NULL THEN otherwise
                ELSE coalesce((weights ->> name)::float8, 0::float8) END;

COMMENT ON FUNCTION _weight IS
    'Returns the weight of a signal: the one given, or the one that the profile has.';

CREATE OR REPLACE FUNCTION ranked(
    agent_id text, query agent_memories.embedding%TYPE DEFAULT NULL, keywords text DEFAULT NULL,
    profile text DEFAULT NULL, weights jsonb DEFAULT NULL, half_life float8 DEFAULT NULL,
    entities text[] DEFAULT NULL, period tstzrange DEFAULT NULL, teams text[] DEFAULT NULL,
    as_of timestamptz DEFAULT NULL,
    include_inactive boolean DEFAULT false)
    RETURNS SETOF _ranked
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT @record but embedding, last_accessed_at: s.{}@,
       s.last_accessed_at,
       @score@ AS score,
       @signals_of_rows@
  FROM (SELECT @record but embedding, last_accessed_at: m.{}@,
               m.last_accessed_at,
               m.has_query, m.has_terms, m.has_names, m.has_period,
               @signals@
          FROM matched(
                   agents_of(ranked.agent_id, ranked.teams), ranked.query, ranked.keywords,
                   ranked.entities, lower(ranked.period), upper(ranked.period), ranked.as_of,
                   @centering@,
                   @subjects@) m
         WHERE require_search(
                   ranked.agent_id, ranked.query, ranked.keywords, ranked.profile, ranked.weights,
                   ranked.half_life, ranked.entities, ranked.period, ranked.teams, ranked.as_of)
           AND m.existed
           -- A comparison that the planner expects to be true of most rows, as it is.
           AND CASE WHEN ranked.include_inactive OR m.status = 'active' AND m.valid THEN 1 END
               IS NOT NULL
           AND (ranked.query IS NULL OR m.embedding IS NOT NULL
                OR NOT @requires_embedding@)
         ORDER BY NULL::integer) s;
END;

COMMENT ON FUNCTION ranked IS
    'Returns one row for each live memory of an agent and these teams: the columns of '
    'memory_records, the score by a profile, and a column for each signal, NULL where the profile '
    'does not have it. PostgreSQL inlines it. include_inactive: also memories of another status, '
    'and those that are not valid now.';

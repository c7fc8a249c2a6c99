-- For EXECUTE … USING ranked, owners, weighed, sources, compared, and the agent and arguments of
-- recall: what has no place among these is a key of sources, whose lists are arrays as text. With
-- the option alone, owners are those whose words count, and the agent is the one who is searched.
CREATE OR REPLACE FUNCTION numbered(template text, facts jsonb, options text[]) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    named text[] := regexp_split_to_array($$ranked, owners, weighed, sources, compared,
        @passed@$$, ',\s+');
    numbers jsonb := (SELECT jsonb_object_agg(n.name, '$' || n.place)
                        FROM unnest(named) WITH ORDINALITY n(name, place));
BEGIN
    RETURN filled(template, numbers || (
        SELECT jsonb_object_agg((s.said ->> 'name') || '_weight', format('($3)[%s]', s.place))
          FROM jsonb_array_elements(facts -> 'signals') WITH ORDINALITY s(said, place))
        || jsonb_build_object(
               'owner_id', numbers ->> 'agent', 'worded_owners', '$2',
               'all_owners', CASE WHEN 'alone' = ANY (options)
                                  THEN format('ARRAY[%s]', numbers ->> 'agent') ELSE '$2' END,
               'period_from', format('lower(%s)', numbers ->> 'query_time'),
               'period_to', format('upper(%s)', numbers ->> 'query_time'))
        || CASE WHEN 'index' = ANY (options) THEN '{}' ELSE jsonb_build_object('whole_owners',
               CASE WHEN 'alone' = ANY (options) THEN format('ARRAY[%s]', numbers ->> 'agent')
                    ELSE '$2' END) END,
        '($4 ->> ''%s'')');
END
$function$;

COMMENT ON FUNCTION numbered IS
    'The text of a statement with parameters as recall passes them, instead of named ones.';

CREATE OR REPLACE FUNCTION statement_places(facts jsonb, given text[]) RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH asked AS (SELECT statement_options(given) AS options),
    signals AS (
        SELECT e.place, e.said ->> 'name' AS name, e.said ->> 'sql' AS value,
               NOT e.said ? 'needs' OR e.said ->> 'needs' = ANY (asked.options) AS has_value
          FROM asked, jsonb_array_elements(facts -> 'signals') WITH ORDINALITY e(said, place)),
    conditions AS (
        SELECT c.file, c.number, string_agg(btrim(c.line), ' ' ORDER BY c.place) AS condition,
               max(c.name) AS name
          FROM (SELECT l.*, sum((l.name <> '')::integer)
                                OVER (PARTITION BY l.file ORDER BY l.place DESC) AS number
                  FROM asked, statement_lines() l
                 WHERE l.file IN (':conditions', ':others')
                   AND cardinality(l.needs || l.excludes) > 0) c, asked
         WHERE c.needs <@ asked.options AND NOT c.excludes && asked.options
         GROUP BY c.file, c.number)
    SELECT jsonb_build_object(
        'score', (
            SELECT format(CASE WHEN 'redistributes' = ANY (asked.options)
                               THEN E'(%s)\n         / (SELECT asked.weights_in_use FROM asked)'
                               ELSE '%s' END,
                          coalesce(string_agg(format(':%s_weight::float8 * %s', s.name, s.value),
                                              E'\n         + ' ORDER BY s.place)
                                       FILTER (WHERE s.has_value), '0::float8'))
              FROM signals s),
        'signals', (
            SELECT format('ARRAY[%s]', string_agg(CASE WHEN s.has_value THEN s.value ELSE '0::float8' END,
                                                  ', ' ORDER BY s.place))
              FROM signals s),
        'meets', (
            SELECT string_agg(format('%L, coalesce(%s, false)', c.name,
                       regexp_replace(c.condition, '^AND ', '')), ', ' ORDER BY c.file, c.number DESC)
              FROM conditions c),
        'columns', $$@record columns@$$)
      FROM asked;
END;

COMMENT ON FUNCTION statement_places IS
    'What stands for the score and so on in a statement, by a profile and with these options.';

CREATE OR REPLACE FUNCTION statement_for(name text, facts jsonb, options text[]) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN numbered(composed(name, options, statement_places(facts, options)), facts, options);

COMMENT ON FUNCTION statement_for IS
    'The text of a statement by a profile, with parameters as numbered says.';

CREATE OR REPLACE FUNCTION alone(options text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT o FROM unnest(options) o
                  WHERE o NOT IN ('apart', 'teams', 'min_score', 'along', 'lends')) || 'alone'::text;

COMMENT ON FUNCTION alone IS
    'The options of the same statement about one of its owners, without turns and a floor of scores.';

CREATE OR REPLACE FUNCTION named_signals(names jsonb, signals float8[]) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT jsonb_object_agg(n.name, signals[n.place])
              FROM jsonb_array_elements_text(names) WITH ORDINALITY n(name, place));

COMMENT ON FUNCTION named_signals IS
    'The values of signals by their names.';

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

CREATE OR REPLACE FUNCTION scored_text(facts jsonb, options text[], OUT score text, OUT signals text)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    moment text := 'pg_catalog.now()';
    accessed text := 'memory_usage.last_accessed_at';
BEGIN
    SELECT coalesce(string_agg(format(':%s_weight::float8 * %s', s.name, s.sql), E'\n         + '
                               ORDER BY e.place) FILTER (WHERE s.has_value), '0::float8'),
           format('ARRAY[%s]', string_agg(CASE WHEN s.has_value THEN s.sql ELSE '0::float8' END, ', '
                                          ORDER BY e.place))
      INTO score, signals
      FROM jsonb_array_elements(facts -> 'signals') WITH ORDINALITY e(said, place),
           LATERAL (SELECT e.said ->> 'name' AS name, e.said ->> 'sql' AS sql,
                           NOT e.said ? 'needs' OR e.said ->> 'needs' = ANY (options) AS has_value) s;
    IF 'redistributes' = ANY (options) THEN
        score := format(E'(%s)\n         / (SELECT asked.weights_in_use FROM asked)', score);
    END IF;
    IF 'as_of' = ANY (options) THEN
        moment := ':as_of::timestamptz';
        accessed := format('CASE WHEN %s <= %s THEN %s END', accessed, moment, accessed);
    END IF;
    score := replace(replace(score, ':moment', moment), ':last_accessed_at', accessed);
    signals := replace(replace(signals, ':moment', moment), ':last_accessed_at', accessed);
END
$function$;

COMMENT ON FUNCTION scored_text IS
    'The SQL of the score and of the values of all signals by a profile, in a statement with these options.';

CREATE OR REPLACE FUNCTION statement_for(name text, facts jsonb, options text[]) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (SELECT numbered(composed(name, options, t.score, t.signals), facts, options)
              FROM scored_text(facts, statement_options(name || options)) t);

COMMENT ON FUNCTION statement_for IS
    'The text of a statement by a profile, with parameters as numbered says.';

CREATE OR REPLACE FUNCTION alone(options text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT o FROM unnest(options) o
                  WHERE o NOT IN ('divided', 'teams', 'min_score', 'expand_session', 'lend')) || 'alone'::text;

COMMENT ON FUNCTION alone IS
    'The options of the same statement about one of its owners, without turns and a floor of scores.';

CREATE OR REPLACE FUNCTION named_signals(names jsonb, signals float8[]) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT jsonb_object_agg(n.name, signals[n.place])
              FROM jsonb_array_elements_text(names) WITH ORDINALITY n(name, place));

COMMENT ON FUNCTION named_signals IS
    'The values of signals by their names.';

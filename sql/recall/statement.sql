-- For programs in other languages, and for EXPLAIN.
CREATE OR REPLACE FUNCTION statement(
    name text, options text[] DEFAULT '{}', profile text DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    facts jsonb := profile_info(coalesce(profile, default_profile()));
    template text;
    parameters text;
    numbers jsonb;
BEGIN
    PERFORM require_one_of('statement', name, @STATEMENTS@);
    PERFORM require_one_of('option', one, @OPTIONS@) FROM unnest(options) one;
    options := options || '{query}';
    options := array_remove(options || profile_options(facts, options), 'include_invalid')
        || CASE WHEN 'include_invalid' = ANY (options) THEN '{}' ELSE '{valid}' END::text[];
    SELECT filled(composed(name, options, t.score, t.signals), profile_literals(facts))
      INTO template
      FROM scored_text(facts, statement_options(name || options)) t;
    SELECT string_agg(
               format('$%s %s %s', p.number, p.name, p.type) || coalesce((
                   SELECT format(' (%s)', s -> 'weight')
                     FROM jsonb_array_elements(facts -> 'signals') s
                    WHERE (s ->> 'name') || '_weight' = p.name), ''), ', ' ORDER BY p.number),
           jsonb_object_agg(p.name, '$' || p.number)
      INTO parameters, numbers
      FROM (SELECT f.name, coalesce(max(f.type), (
                       SELECT format_type(a.atttypid, NULL) FROM pg_attribute a
                        WHERE a.attrelid = 'agent_memories'::regclass
                          AND a.attname = 'embedding')) AS type,
                   row_number() OVER (ORDER BY min(f.place)) AS number
              FROM (SELECT s.place, substring(s.piece FROM '^[a-z]\w*') AS name,
                           lag(s.piece) OVER (ORDER BY s.place) AS before,
                           CASE WHEN s.piece ~ '^\w+$'
                                     AND lead(s.piece) OVER (ORDER BY s.place) = ''
                                THEN substring(lead(s.piece, 2) OVER (ORDER BY s.place)
                                               FROM '^\w+(?:\[\])?')
                           END AS type
                      FROM string_to_table(template, ':') WITH ORDINALITY s(piece, place)) f
             WHERE f.place > 1 AND f.before <> '' AND f.name IS NOT NULL
             GROUP BY f.name) p;
    RETURN replace(filled(template, numbers), format('/* pgrecall %s */', name),
                   format('/* pgrecall %s: %s */', name, parameters));
END
$function$;

COMMENT ON FUNCTION statement IS
    'The text of a statement that programs can prepare. Its first comment lists the parameters, '
    'and the weights of the profile. options: those of its conditions, joins and columns, such as '
    'tags, words or teams; include_invalid leaves out the condition valid.';

-- For EXECUTE … USING ranked, owners, weighed, sources, compared, and the agent and arguments of
-- recall: what has no place among these is a key of sources, whose lists are arrays as text. With
-- the option alone, owners are those whose words count, and the agent is the one who is searched.
CREATE OR REPLACE FUNCTION numbered(template text, weights jsonb, options text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN filled(template, @numbers@ || weights
        || CASE WHEN 'index' = ANY (options) THEN '{}'
                WHEN 'alone' = ANY (options) THEN jsonb_build_object('whole_owners', 'ARRAY[$6]')
                ELSE '{"whole_owners": "$2"}' END
        || CASE WHEN 'alone' = ANY (options) THEN jsonb_build_object('all_owners', 'ARRAY[$6]')
                ELSE '{"all_owners": "$2"}' END,
        '($4 ->> ''%s'')');

COMMENT ON FUNCTION numbered IS
    'The text of a statement with parameters as recall passes them, instead of named ones.';

CREATE OR REPLACE FUNCTION scored_text(
    facts jsonb, options text[], OUT score text, OUT signals text, OUT weights jsonb)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    moment text := 'pg_catalog.now()';
    accessed text := 'memory_usage.last_accessed_at';
    place text;
    filler text;
BEGIN
    SELECT coalesce(string_agg(format(':%s_weight::float8 * %s', s.name, s.sql), E'\n         + '
                               ORDER BY e.place) FILTER (WHERE s.has_value), '0::float8'),
           format('ARRAY[%s]', string_agg(
               CASE WHEN s.has_value THEN s.sql ELSE '0::float8' END, ', ' ORDER BY e.place)),
           jsonb_object_agg(s.name || '_weight', format('($3)[%s]', e.place))
      INTO score, signals, weights
      FROM jsonb_array_elements(facts -> 'signals') WITH ORDINALITY e(said, place),
           LATERAL (SELECT e.said ->> 'name' AS name,
                           coalesce(CASE WHEN 'naming' = ANY (options)
                                         THEN e.said ->> 'looked_up' END, e.said ->> 'sql') AS sql,
                           NOT e.said ? 'needs'
                           OR e.said ->> 'needs' = ANY (options) AS has_value) s;
    IF 'redistributes' = ANY (options) THEN
        score := format(E'(%s)\n         / (SELECT asked.weights_in_use FROM asked)', score);
    END IF;
    IF facts ? 'decay' THEN
        score := format('pgrecall.decayed(%s, %s)', score, facts #>> '{decay,sql}');
        signals := format('%s, %s]', left(signals, -1), facts #>> '{decay,sql}');
    END IF;
    IF 'as_of' = ANY (options) THEN
        moment := ':as_of::timestamptz';
        accessed := format('CASE WHEN %s <= %s THEN %s END', accessed, moment, accessed);
    END IF;
    FOR place, filler IN
        VALUES (':moment', moment), (':last_accessed_at', accessed),
               (':counted_subject', CASE WHEN 'subjects' = ANY (options)
                                         THEN 'agent_memories.subject' ELSE 'NULL' END),
               (':shifted_similarity', CASE
                    WHEN NOT 'shifted' = ANY (options)
                    THEN 'pgrecall.similarity(agent_memories.embedding, :query'
                    ELSE 'pgrecall.similarity_to((SELECT shifted.query FROM shifted'
                         || CASE WHEN 'teams' = ANY (options)
                                 THEN ' WHERE shifted.agent_id = agent_memories.agent_id'
                                 ELSE '' END
                         || '), agent_memories.embedding' END) LOOP
        score := replace(score, place, filler);
        signals := replace(signals, place, filler);
    END LOOP;
    weights := weights || profile_literals(facts);
END
$function$;

CREATE OR REPLACE FUNCTION profile_literals(facts jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN jsonb_strip_nulls(jsonb_build_object(
                              'mean_share', coalesce(facts ->> 'mean_share', '0.0') || '::float8',
                              'subjects_named', (facts ? 'subjects_named')::text,
                              'names', facts ->> 'names'));

COMMENT ON FUNCTION profile_literals IS
    'What stands in statements for numbers of a profile that are not weights.';

COMMENT ON FUNCTION scored_text IS
    'The SQL of the score and of the values of all signals by a profile, in a statement with these '
    'options. weights: what stands for the weight of each, if $3 has all.';

CREATE OR REPLACE FUNCTION statement_for(name text, facts jsonb, options text[]) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    scored record := scored_text(facts, statement_options(name || options));
BEGIN
    RETURN numbered(composed(name, options, scored.score, scored.signals), scored.weights, options);
END
$function$;

COMMENT ON FUNCTION statement_for IS
    'The text of a statement by a profile, with parameters as numbered says.';

CREATE OR REPLACE FUNCTION alone(options text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT o FROM unnest(options) o
                  WHERE o NOT IN ('divided', 'teams', 'min_score', 'surrounding_turns'))
           || 'alone'::text;

COMMENT ON FUNCTION alone IS
    'The options of the same statement about one of its owners, without turns and a floor of '
    'scores.';

CREATE OR REPLACE FUNCTION named_signals(names jsonb, signals float8[]) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT jsonb_object_agg(n.name, signals[n.place])
              FROM jsonb_array_elements_text(names) WITH ORDINALITY n(name, place));

COMMENT ON FUNCTION named_signals IS
    'The values of signals by their names.';

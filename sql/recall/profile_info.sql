-- Not named profile_…: those are the names of profiles' own functions.
CREATE OR REPLACE FUNCTION profile_info(profile text) RETURNS jsonb
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    facts jsonb;
BEGIN
    IF to_regproc(format('%I.%I', current_schema(), 'profile_' || coalesce(profile, '')))
       IS NULL THEN
        RAISE EXCEPTION 'unknown profile %; there are %', quote_nullable(left(profile, 60)), (
            SELECT string_agg(substr(p.proname, 7), ', ' ORDER BY p.proname) FROM pg_proc p
             WHERE p.pronamespace = current_schema()::regnamespace
               AND p.proname LIKE 'score\_%')
            USING ERRCODE = 'PM007';
    END IF;
    EXECUTE format('SELECT %I()', 'profile_' || profile) INTO facts;
    RETURN facts;
END
$function$;

COMMENT ON FUNCTION profile_info IS
    'What recall needs to know about a profile; raises PM007 with the known profiles for an '
    'unknown name.';

CREATE OR REPLACE FUNCTION weights_of(facts jsonb, profile text, weights jsonb) RETURNS float8[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    names text[] := ARRAY(SELECT s ->> 'name' FROM jsonb_array_elements(facts -> 'signals') s);
    given record;
    weighed float8[];
    total float8;
BEGIN
    IF weights IS NULL THEN
        RETURN ARRAY(SELECT (s ->> 'weight')::float8
                       FROM jsonb_array_elements(facts -> 'signals') s);
    ELSIF jsonb_typeof(weights) <> 'object' THEN
        RAISE EXCEPTION 'weights must map signals to numbers, got %', left(weights::text, 60)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR given IN SELECT w.key AS name, w.value FROM jsonb_each(weights) w LOOP
        IF given.name <> ALL (names) THEN
            RAISE EXCEPTION 'profile % has no signal %; its signals are %',
                quote_literal(profile), quote_literal(left(given.name, 60)),
                array_to_string(names, ', ')
                USING ERRCODE = 'PM007';
        ELSIF jsonb_typeof(given.value) <> 'number' THEN
            RAISE EXCEPTION 'profile %: the weight of % must be a number, got %',
                quote_literal(profile), given.name, left(given.value::text, 60)
                USING ERRCODE = 'invalid_parameter_value';
        ELSIF given.value::numeric <> 0
              AND given.value::numeric NOT BETWEEN 1e-12 AND 1 THEN
            RAISE EXCEPTION 'profile %: the weight of % must be 0 or lie within 1e-12 and 1, got %',
                quote_literal(profile), given.name, left(given.value::text, 60)
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
    END LOOP;
    weighed := ARRAY(SELECT coalesce((weights ->> one)::float8, 0) FROM unnest(names) one);
    total := (SELECT coalesce(sum(one), 0) FROM unnest(weighed) one);
    IF abs(total - 1) > 1e-9 THEN
        RAISE EXCEPTION 'profile %: the weights must sum to 1, they sum to %',
            quote_literal(profile), total
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN weighed;
END
$function$;

COMMENT ON FUNCTION weights_of IS
    'The weights of a profile''s signals, in their order, or the given ones instead; a signal that '
    'is not named weighs 0.';

CREATE OR REPLACE FUNCTION redistributed(facts jsonb, weights float8[], untold text[])
    RETURNS float8[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH told AS (
        SELECT w.place,
               CASE WHEN s.said ->> 'name' = ANY (untold) THEN 0 ELSE w.weight END AS weight
          FROM unnest(weights) WITH ORDINALITY w(weight, place)
          JOIN jsonb_array_elements(facts -> 'signals') WITH ORDINALITY s(said, place)
         USING (place))
    SELECT CASE WHEN sum(weight) > 0 AND untold <> '{}'
                THEN array_agg(weight / (SELECT nullif(sum(weight), 0) FROM told) ORDER BY place)
                ELSE weights END
      FROM told;
END;

COMMENT ON FUNCTION redistributed IS
    'The weights of a profile, where those of untold, the signals that a query lacks, go to the '
    'others in proportion. Unchanged where no other signal has a weight.';

CREATE OR REPLACE FUNCTION profile_options(facts jsonb, given text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_remove(ARRAY[
        CASE WHEN facts @? '$.signals[*] ? (@.reads_usage == true)'
                  OR (facts #> '{decay,reads_usage}')::boolean THEN 'usage' END,
        CASE WHEN 'query' = ANY (given) AND (facts -> 'requires_embedding')::boolean
             THEN 'embedding' END,
        CASE WHEN facts @? '$.signals[*] ? (@.name == "keyword")' THEN 'keyword' END,
        CASE WHEN 'query' = ANY (given) AND facts ? 'mean_share' THEN 'shifted' END,
        CASE WHEN facts ? 'redistribute' THEN 'redistribute' END], NULL);

COMMENT ON FUNCTION profile_options IS
    'The options of a statement that follow from the profile and from the others.';

-- Positions in a rank index do not follow it.
CREATE OR REPLACE FUNCTION with_half_life(facts jsonb, profile text, half_life float8) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF half_life NOT BETWEEN @SHORTEST_HALF_LIFE@ AND @LONGEST_HALF_LIFE@ THEN
        RAISE EXCEPTION 'half_life must lie within @SHORTEST_HALF_LIFE,@ and @LONGEST_HALF_LIFE,@ '
            'days, got %', half_life
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF facts @? '$.signals[*] ? (@.name == "recency")' THEN
        NULL;
    ELSIF facts ? 'decay' THEN
        RETURN jsonb_set(facts, '{decay,sql}', facts #> '{decay,of_half_life}');
    ELSE
        RAISE EXCEPTION 'profile % has no recency signal and no decay, so no half-life can be set',
            quote_literal(profile)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN jsonb_set(facts, '{signals}', (
        SELECT jsonb_agg(CASE WHEN s.said ? 'of_half_life'
                              THEN s.said || jsonb_build_object(
                                  'sql', s.said -> 'of_half_life', 'uncovered', true,
                                  'terms', '[]'::jsonb, 'used_terms', '[]'::jsonb)
                              ELSE s.said END ORDER BY s.place)
          FROM jsonb_array_elements(facts -> 'signals') WITH ORDINALITY s(said, place)));
END
$function$;

COMMENT ON FUNCTION with_half_life IS
    'The facts of a profile, with one half-life of recency, in days, for all memories.';

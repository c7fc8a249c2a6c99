-- The facts of each profile, which migrate/ranked_function.py fills in.
CREATE OR REPLACE FUNCTION _profiles() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN $facts$
@facts@
$facts$::jsonb;

COMMENT ON FUNCTION _profiles IS
    'Returns what functions need to know about each profile, built in or installed, by its name.';

CREATE OR REPLACE FUNCTION profile_facts(profile text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF (_profiles() -> profile) IS NULL THEN
        RAISE EXCEPTION 'unknown profile %; there are %', quote_nullable(left(profile, 60)), (
            SELECT string_agg(p, ', ' ORDER BY p) FROM jsonb_object_keys(_profiles()) p)
            USING ERRCODE = 'PM007';
    END IF;
    RETURN _profiles() -> profile;
END
$function$;

COMMENT ON FUNCTION profile_facts IS
    'Returns what functions need to know about a profile; raises PM007 with the known profiles for '
    'an unknown name.';

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

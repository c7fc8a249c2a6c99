-- For readers.
-- The checks below are inlined, so that each becomes a call of this function.
CREATE OR REPLACE FUNCTION require(is_so boolean, message text, code text DEFAULT '22023')
    RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF is_so IS NOT TRUE THEN
        RAISE EXCEPTION USING MESSAGE = message, ERRCODE = code;
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION require_share(name text, value float8) RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN require(value BETWEEN 0 AND 1,
                   format('%s must lie within 0 and 1, got %s', name,
                          coalesce(value::text, 'NULL')));

CREATE OR REPLACE FUNCTION require_count(name text, value bigint, at_least bigint, at_most bigint)
    RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN require(value BETWEEN at_least AND at_most, format(
        '%s must lie within %s and %s, got %s', name, at_least, at_most,
        coalesce(value::text, 'NULL')));

CREATE OR REPLACE FUNCTION require_duration(name text, value interval) RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN require(value BETWEEN '0 days' AND @LONGEST_DURATION@, format(
        '%s must lie within 0 and @LONGEST_DURATION,@ days, got %s', name,
        coalesce(left(value::text, 100), 'NULL')));

CREATE OR REPLACE FUNCTION require_one_of(name text, value text, known text[]) RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN require(value = ANY (known), format(
        'unknown %s %s; known are %s', name, quote_nullable(left(value, 100)),
        array_to_string(known, ', ')), 'PM007');

CREATE OR REPLACE FUNCTION require_few(name text, listed text[]) RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN require(
        coalesce(cardinality(listed), 0) <= @MAX_VALUES@
        AND coalesce((SELECT max(length(one)) FROM unnest(listed) one), 0) <= @MAX_TEXT_LENGTH@,
        format('%s may have at most @MAX_VALUES,@ texts, each of at most @MAX_TEXT_LENGTH,@ '
               'characters, got %s', name, cardinality(listed)));

CREATE OR REPLACE FUNCTION is_deep(metadata jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN metadata @? 'strict $.**{@MAX_DEPTH@} ? (@.type() == "object" || @.type() == "array")';

CREATE OR REPLACE FUNCTION is_blank(shown text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN btrim(shown, @BLANK@) = '';

CREATE OR REPLACE FUNCTION require_diversity(diversity float8) RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN require(diversity >= 0 AND diversity < 1,
                   format('diversity must lie within 0 and 1 and be less than 1, got %s',
                          coalesce(diversity::text, 'NULL')));

COMMENT ON FUNCTION require_diversity IS
    'Raises invalid_parameter_value unless 0 ≤ diversity < 1.';
COMMENT ON FUNCTION is_blank IS
    'Returns true if a text shows nothing: it is empty, or of spaces and zero-width characters.';
COMMENT ON FUNCTION require_few IS
    'Raises invalid_parameter_value for a list of more than @MAX_VALUES,@ texts, or with one of '
    'more than @MAX_TEXT_LENGTH,@ characters.';
COMMENT ON FUNCTION is_deep IS
    'Returns true if lists and objects are nested more than @MAX_DEPTH@ levels deep.';
COMMENT ON FUNCTION require IS
    'Raises the message unless is_so is true.';
COMMENT ON FUNCTION require_share IS
    'Raises invalid_parameter_value unless 0 ≤ value ≤ 1.';
COMMENT ON FUNCTION require_count IS
    'Raises invalid_parameter_value unless at_least ≤ value ≤ at_most.';
COMMENT ON FUNCTION require_duration IS
    'Raises invalid_parameter_value unless 0 ≤ value ≤ @LONGEST_DURATION,@ days.';
COMMENT ON FUNCTION require_one_of IS
    'Raises PM007 for an unknown word.';

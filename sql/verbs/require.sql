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
                   format('%s must lie within 0 and 1, got %s', name, coalesce(value::text, 'NULL')));

CREATE OR REPLACE FUNCTION require_count(name text, value bigint, at_least bigint, at_most bigint)
    RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN require(value BETWEEN at_least AND at_most, format(
        '%s must lie within %s and %s, got %s', name, at_least, at_most,
        coalesce(value::text, 'NULL')));

CREATE OR REPLACE FUNCTION require_duration(name text, value interval) RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN require(value BETWEEN '0 days' AND '365250 days', format(
        '%s must lie within 0 and 365,250 days, got %s', name,
        coalesce(left(value::text, 100), 'NULL')));

CREATE OR REPLACE FUNCTION require_one_of(name text, value text, known text[]) RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN require(value = ANY (known), format(
        'unknown %s %s; known are %s', name, quote_nullable(left(value, 100)),
        array_to_string(known, ', ')), 'PM007');

CREATE OR REPLACE FUNCTION require_few(name text, listed text[]) RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN require(coalesce(cardinality(listed), 0) <= 1000
                   AND coalesce((SELECT max(length(one)) FROM unnest(listed) one), 0) <= 500000, format(
        '%s may have at most 1,000 texts, each of at most 500,000 characters, got %s',
        name, cardinality(listed)));

CREATE OR REPLACE FUNCTION is_deep(metadata jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN metadata @? 'strict $.**{32} ? (@.type() == "object" || @.type() == "array")';

CREATE OR REPLACE FUNCTION is_blank(shown text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN btrim(shown,
        E'\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u00ad\u034f\u061c\u115f'
        || E'\u1160\u1680\u17b4\u17b5\u180b\u180c\u180d\u180e\u2000\u2001\u2002\u2003'
        || E'\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u200c\u200d\u200e\u200f'
        || E'\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u202f\u205f\u2060\u2061\u2062'
        || E'\u2063\u2064\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f'
        || E'\u3000\u3164\ufe0e\ufe0f\ufeff\uffa0') = '';

COMMENT ON FUNCTION is_blank IS
    'Whether a text shows nothing: it is empty, or of spaces and zero-width characters.';
COMMENT ON FUNCTION require_few IS
    'Raises invalid_parameter_value for a list of more than 1,000 texts, or with one of more than 500,000 characters.';
COMMENT ON FUNCTION is_deep IS
    'Whether lists and objects are nested more than 32 levels deep.';
COMMENT ON FUNCTION require IS 'Raises the message unless is_so is true.';
COMMENT ON FUNCTION require_share IS 'Raises invalid_parameter_value unless 0 ≤ value ≤ 1.';
COMMENT ON FUNCTION require_count IS
    'Raises invalid_parameter_value unless at_least ≤ value ≤ at_most.';
COMMENT ON FUNCTION require_duration IS
    'Raises invalid_parameter_value unless 0 ≤ value ≤ 365,250 days.';
COMMENT ON FUNCTION require_one_of IS 'Raises PM007 for a word that is not known.';

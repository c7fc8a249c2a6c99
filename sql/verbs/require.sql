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

COMMENT ON FUNCTION require IS 'Raises the message unless is_so is true.';
COMMENT ON FUNCTION require_share IS 'Raises invalid_parameter_value unless 0 ≤ value ≤ 1.';
COMMENT ON FUNCTION require_count IS
    'Raises invalid_parameter_value unless at_least ≤ value ≤ at_most.';
COMMENT ON FUNCTION require_duration IS
    'Raises invalid_parameter_value unless 0 ≤ value ≤ 365,250 days.';
COMMENT ON FUNCTION require_one_of IS 'Raises PM007 for a word that is not known.';

-- For readers.
CREATE OR REPLACE FUNCTION require_count(name text, value bigint, at_least bigint, at_most bigint)
    RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF value IS NULL OR NOT value BETWEEN at_least AND at_most THEN
        RAISE EXCEPTION '% must lie within % and %, got %',
            name, at_least, at_most, coalesce(value::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_count IS
    'Raises invalid_parameter_value unless at_least ≤ value ≤ at_most.';

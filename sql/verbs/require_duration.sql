-- For readers.
CREATE OR REPLACE FUNCTION require_duration(name text, value interval) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF value IS NULL OR NOT value BETWEEN '0 days' AND '365250 days' THEN
        RAISE EXCEPTION '% must lie within 0 and 365,250 days, got %',
            name, coalesce(left(value::text, 100), 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_duration IS
    'Raises invalid_parameter_value unless 0 ≤ value ≤ 365,250 days.';

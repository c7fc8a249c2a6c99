-- For readers.
CREATE OR REPLACE FUNCTION require_share(name text, value float8) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF value IS NULL OR NOT value BETWEEN 0 AND 1 THEN
        RAISE EXCEPTION '% must lie within 0 and 1, got %', name, coalesce(value::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_share IS 'Raises invalid_parameter_value unless 0 ≤ value ≤ 1.';

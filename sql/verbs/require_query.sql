CREATE OR REPLACE FUNCTION require_query(query text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF query !~ '\S' THEN
        RAISE EXCEPTION 'the query is empty' USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_query IS
    'Raises invalid_parameter_value for a query of white space; NULL, which is none, passes.';

CREATE OR REPLACE FUNCTION require_link(source_id uuid, target_id uuid, kind text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF source_id = target_id THEN
        RAISE EXCEPTION 'a link leads from one memory to another, got % twice', source_id
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF (length(kind) BETWEEN 1 AND 200) IS NOT TRUE THEN
        RAISE EXCEPTION 'kind must have 1 to 200 characters, got %', quote_nullable(left(kind, 100))
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_link IS 'Raises invalid_parameter_value for what is no link.';

CREATE OR REPLACE FUNCTION require_note(agent text, actor text, metadata jsonb) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM require_owner(agent);
    IF actor = '' OR length(actor) > @MAX_NAME_LENGTH@ THEN
        RAISE EXCEPTION 'actor must have 1 to @MAX_NAME_LENGTH@ characters, got %',
            quote_literal(left(actor, 100))
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF jsonb_typeof(metadata) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'metadata must be a JSON object, got %',
            coalesce(left(metadata::text, 100), 'NULL') USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_note IS
    'Raises invalid_parameter_value for an owner, actor or metadata that an event cannot carry.';

CREATE OR REPLACE FUNCTION require_note(agent text, actor text, metadata jsonb) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM require_owner(agent);
    PERFORM require(actor IS NULL OR length(actor) BETWEEN 1 AND @MAX_NAME_LENGTH@, format(
        'actor must have 1 to @MAX_NAME_LENGTH@ characters, got %L', left(actor, 100)));
    PERFORM require(jsonb_typeof(metadata) = 'object', concat(
        'metadata must be a JSON object, got ', coalesce(left(metadata::text, 100), 'NULL')));
END
$function$;

COMMENT ON FUNCTION require_note IS
    'Raises invalid_parameter_value for an owner, actor or metadata that an event cannot carry.';

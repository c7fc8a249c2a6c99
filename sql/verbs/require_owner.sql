-- For readers.
-- It returns the id, so that one statement can check a list of ids. A statement must not compare
-- rows with the result: Citus would send it to every node.
CREATE OR REPLACE FUNCTION require_owner(agent text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF agent IS NULL OR is_blank(regexp_replace(agent, '^team:', ''))
       OR length(agent) > 5 + @MAX_NAME_LENGTH@ THEN
        RAISE EXCEPTION 'agent must be an id of 1 to @MAX_NAME_LENGTH@ characters '
            '(team:<id> for a team), got %',
            quote_nullable(left(agent, 100)) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN agent;
END
$function$;

COMMENT ON FUNCTION require_owner IS
    'Returns the id of the owner; raises invalid_parameter_value for an invalid one.';

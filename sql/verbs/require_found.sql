CREATE OR REPLACE FUNCTION require_found(agent text, memory_id uuid, there boolean) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF there IS NOT TRUE THEN
        RAISE EXCEPTION '% has no memory %', named_owner(agent), coalesce(memory_id::text, 'NULL')
            USING ERRCODE = 'PM003';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_found IS
    'Raises PM003 unless the memory exists.';

CREATE OR REPLACE FUNCTION named_owner(agent text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN starts_with(agent, 'team:') THEN 'team ''' ELSE 'agent ''' END
           || left(regexp_replace(agent, '^team:', ''), 100) || '''';

COMMENT ON FUNCTION named_owner IS
    'Returns the name of an owner for messages: agent ''x'' or team ''x''.';

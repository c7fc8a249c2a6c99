CREATE OR REPLACE FUNCTION require_found(agent text, memory_id uuid, there boolean) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF there IS NOT TRUE THEN
        RAISE EXCEPTION 'agent % has no memory %', quote_nullable(left(agent, 100)), coalesce(memory_id::text, 'NULL')
            USING ERRCODE = 'PM003';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_found IS 'Raises PM003 unless the memory was found.';

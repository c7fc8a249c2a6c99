CREATE OR REPLACE FUNCTION require_one_of(name text, value text, known text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF (value = ANY (known)) IS NOT TRUE THEN
        RAISE EXCEPTION 'unknown % %; known are %', name, quote_nullable(left(value, 100)),
            array_to_string(known, ', ') USING ERRCODE = 'PM007';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_one_of IS 'Raises PM007 for a word that is not among those known.';

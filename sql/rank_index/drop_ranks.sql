CREATE FUNCTION drop_ranks(relation text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
    SET lock_timeout = '2s'
AS $function$
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS %I', relation);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$function$;

COMMENT ON FUNCTION drop_ranks IS
    'Drops the table of a rank index; false where somebody still reads it: the next maintenance will.';

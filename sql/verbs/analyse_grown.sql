-- SECURITY DEFINER, since only its owner may analyse a table. Callers cannot abuse it: it looks at
-- what they would tell. One that another session is analysing is left out, which only the log says.
CREATE OR REPLACE FUNCTION _analyse_grown() RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    SET client_min_messages = error AS $function$
DECLARE
    grown text;
BEGIN
    FOR grown IN
        SELECT c.oid::regclass::text FROM pg_class c
         WHERE c.oid = ANY (analysed_tables()::regclass[]) AND NOT is_distributed()
           AND pg_relation_size(c.oid)
               > 1.2 * c.relpages * current_setting('block_size')::bigint LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', grown);
    END LOOP;
END
$function$;

COMMENT ON FUNCTION _analyse_grown IS
    'Analyses the tables of memories that have grown by a fifth since they were last analysed or '
    'vacuumed.';

-- For the owner.
-- A setting is stored as a function, as the text language is: only the owner can change it, and it
-- is in dumps and clones, and on each node of Citus. A setting of the database would take a
-- superuser. It belongs to the owner of the schema, also where a superuser sets it.
CREATE OR REPLACE FUNCTION keep_setting(name text, value text, said text) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    owner regrole := (SELECT proowner FROM pg_proc WHERE oid = 'keep_setting'::regproc);
BEGIN
    EXECUTE format('CREATE OR REPLACE FUNCTION %I() RETURNS text LANGUAGE sql '
                   'IMMUTABLE PARALLEL SAFE RETURN %L::text', name, value);
    EXECUTE format('REVOKE ALL ON FUNCTION %I() FROM PUBLIC', name);
    EXECUTE format('ALTER FUNCTION %I() OWNER TO %s', name, owner);
    EXECUTE format('COMMENT ON FUNCTION %I() IS %L', name, said);
    PERFORM distribute(again => true);
END
$function$;

COMMENT ON FUNCTION keep_setting IS
    'Stores a setting as a function of this name, which only the owner may call. The argument said '
    'is its comment.';

-- For the owner.
-- The version is kept as a function, as the text language is: only the owner can change it, and it is
-- in dumps and clones, and on each node of Citus. A setting of the database would take a superuser.
CREATE OR REPLACE FUNCTION accept_pgvector(version text) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    IF version <> pgvector_version() THEN
        RAISE EXCEPTION 'version must be that of pgvector in this database, which is %, got %',
            pgvector_version(), left(version, 60) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('CREATE OR REPLACE FUNCTION accepted_pgvector() RETURNS text LANGUAGE sql '
                   'IMMUTABLE PARALLEL SAFE RETURN %L::text', version);
    REVOKE ALL ON FUNCTION accepted_pgvector() FROM PUBLIC;
    COMMENT ON FUNCTION accepted_pgvector() IS 'The version set by accept_pgvector.';
    PERFORM distribute(again => true);
END
$function$;

COMMENT ON FUNCTION accept_pgvector IS
    'Accepts the risk of HNSW graphs in this version of pgvector, older than 0.8.3, until another one is installed; NULL accepts none.';

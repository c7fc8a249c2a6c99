-- For the owner.
CREATE OR REPLACE FUNCTION accept_pgvector(version text) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    IF version <> pgvector_version() THEN
        RAISE EXCEPTION 'version must be that of pgvector in this database, which is %, got %',
            pgvector_version(), left(version, 60) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM keep_setting('accepted_pgvector', version, 'The version set by accept_pgvector.');
END
$function$;

COMMENT ON FUNCTION accept_pgvector IS
    'Accepts the risk of HNSW graphs in this version of pgvector, which is older than 0.8.3. The '
    'consent ends when another version is installed. NULL withdraws it.';

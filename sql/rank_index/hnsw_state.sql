-- pgvector before 0.8.3 can corrupt an HNSW graph that is written and vacuumed by turns, as the
-- graph of used memories is. From PostgreSQL 18 on, the session can also read the version of the
-- library. It may be older than that of the extension, or newer; the older one counts.
CREATE OR REPLACE FUNCTION pgvector_version() RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    version text := (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'vector');
    loaded text;
BEGIN
    IF current_setting('server_version_num')::integer >= 180000 THEN
        PERFORM '[1]'::@extschema:vector@.vector;  -- loads the library
        SELECT m.version INTO loaded FROM pg_get_loaded_modules() m WHERE m.module_name = 'vector';
        IF version_parts(loaded) < version_parts(version) THEN
            RETURN loaded;
        END IF;
    END IF;
    RETURN version;
END
$function$;

COMMENT ON FUNCTION pgvector_version IS
    'Returns the version of pgvector: of the extension, or of the loaded library if that version '
    'is known and older.';

CREATE OR REPLACE FUNCTION version_parts(version text) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN string_to_array(substring(version, '^[0-9]+(?:\.[0-9]+)*'), '.')::integer[];

COMMENT ON FUNCTION version_parts IS
    'Returns the numbers of a version, which compare in order.';

CREATE OR REPLACE FUNCTION hnsw_state() RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT
    RETURN CASE WHEN version_parts(pgvector_version()) >= '{0,8,3}' THEN 'allowed'
                ELSE 'refused' END;

COMMENT ON FUNCTION hnsw_state IS
    'Returns whether pgrecall builds, writes and searches HNSW graphs with the pgvector of this '
    'server: allowed, or refused where it is older than 0.8.3.';

CREATE OR REPLACE FUNCTION require_hnsw() RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    IF hnsw_state() = 'refused' THEN
        RAISE EXCEPTION 'pgvector % can corrupt HNSW indexes: install 0.8.3 or newer and run '
            '`ALTER EXTENSION vector UPDATE`', pgvector_version() USING ERRCODE = 'PM008';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_hnsw IS
    'Raises PM008 unless HNSW graphs may be built and written with the pgvector of this server.';

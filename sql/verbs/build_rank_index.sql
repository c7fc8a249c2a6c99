-- For maintainers.
-- The procedure has several transactions, so it cannot run inside another one. A procedure that
-- commits can have no SET search_path, so names are written in full.
CREATE OR REPLACE PROCEDURE build_rank_index(
    agent text, at_least bigint DEFAULT 5000, m integer DEFAULT @M@,
    ef_construction integer DEFAULT @EF_CONSTRUCTION@, as_of timestamptz DEFAULT NULL,
    replaces timestamptz DEFAULT NULL, waited timestamptz DEFAULT NULL)
    LANGUAGE plpgsql
AS $procedure$
DECLARE
    built_at pg_catalog.timestamptz;
BEGIN
    PERFORM @extschema@.lift_limits();
    built_at := COALESCE(waited, @extschema@.await_writers(agent, 60));
    IF built_at IS NULL THEN
        RAISE EXCEPTION 'a transaction that wrote memories has not ended within 60 seconds: end it '
            'and build again, so that the index misses none of them'
            USING ERRCODE = 'object_in_use';
    END IF;
    COMMIT;
    PERFORM @extschema@.lift_limits();
    PERFORM @extschema@.make_rank_index(
        agent, built_at, at_least, m, ef_construction, as_of, replaces);
    COMMIT;
    PERFORM @extschema@.lift_limits();
    PERFORM @extschema@.await_writers(agent, 60, 'memory_usage');
    COMMIT;
    PERFORM @extschema@.lift_limits();
    PERFORM @extschema@.log_usage(agent);
    COMMIT;
    PERFORM @extschema@.lift_limits();
    PERFORM @extschema@.drop_former_positions(agent);
    COMMIT;
END
$procedure$;

COMMENT ON PROCEDURE build_rank_index IS
    'Builds the rank index of an owner and replaces the former one. Searches and writers do not '
    'wait. The argument waited is what await_writers returned, if the caller called it.';

CREATE OR REPLACE FUNCTION drop_rank_index(agent text) RETURNS boolean
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
DECLARE
    dropped boolean;
BEGIN
    PERFORM require_owner(agent);
    DELETE FROM rank_indexes r WHERE r.agent_id = agent;
    dropped := FOUND;
    IF dropped THEN
        PERFORM drop_former_positions(agent);
    END IF;
    RETURN dropped;
END
$function$;

COMMENT ON FUNCTION drop_rank_index IS
    'Drops the rank index of an owner; its searches then score every memory. Returns false if '
    'there was none.';

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

CREATE OR REPLACE PROCEDURE maintain_rank_indexes(
    agent text DEFAULT NULL, at_least bigint DEFAULT 5000, m integer DEFAULT @M@,
    ef_construction integer DEFAULT @EF_CONSTRUCTION@, waited timestamptz DEFAULT NULL)
    LANGUAGE plpgsql
AS $procedure$
DECLARE
    state pg_catalog.record;
    none pg_catalog.timestamptz := '-infinity';
    until pg_catalog.timestamptz;
    ids pg_catalog.uuid[];
BEGIN
    IF agent IS NULL AND waited IS NOT NULL THEN
        RAISE EXCEPTION 'waited is of one owner: name the agent'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM @extschema@.lift_limits();
    FOR state IN SELECT * FROM @extschema@.rank_index_states(agent, at_least) LOOP
        PERFORM @extschema@.lift_limits();
        IF state.shrunk THEN
            RAISE NOTICE '%: has shrunk, its rank index is dropped', state.agent_id;
            PERFORM @extschema@.drop_rank_index(state.agent_id);
            COMMIT;
        ELSIF state.due IS NOT NULL THEN
            RAISE NOTICE '%: %', state.agent_id, state.due;
            CALL @extschema@.build_rank_index(
                state.agent_id, COALESCE(state.used_at_least, at_least), COALESCE(state.m, m),
                COALESCE(state.ef_construction, ef_construction), NULL,
                COALESCE(state.built_at, none), waited);
        ELSE
            PERFORM @extschema@.log_usage(state.agent_id);
            COMMIT;
            PERFORM @extschema@.lift_limits();
            CONTINUE WHEN state.written + state.changed = 0;
            until := COALESCE(waited, @extschema@.await_writers(state.agent_id, 60));
            CONTINUE WHEN until IS NULL;
            COMMIT;
            PERFORM @extschema@.lift_limits();
            ids := @extschema@.memories_beside(state.agent_id);
            COMMIT;
            PERFORM @extschema@.lift_limits();
            FOR place IN 1 .. pg_catalog.cardinality(ids) BY 200 LOOP
                PERFORM @extschema@.place_memories(state.agent_id, ids[place : place + 199]);
                COMMIT;
                PERFORM @extschema@.lift_limits();
            END LOOP;
            PERFORM @extschema@.note_placed(state.agent_id, state.built_at, until);
            COMMIT;
            PERFORM @extschema@.lift_limits();
        END IF;
    END LOOP;
    IF agent IS NULL THEN
        PERFORM @extschema@.lift_limits();
        PERFORM @extschema@.on_every_node('drop_positions');
        COMMIT;
        PERFORM @extschema@.lift_limits();
        PERFORM @extschema@.on_every_node('align_positions');
    END IF;
    COMMIT;
END
$procedure$;

COMMENT ON PROCEDURE maintain_rank_indexes IS
    'Rebuilds every rank index that is due, with its own settings, and places memories that were '
    'written or changed in the others. Builds an index for each owner that has grown large, and '
    'drops those of owners that have shrunk. The argument waited is as in build_rank_index.';

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

-- For maintainers.
CREATE OR REPLACE FUNCTION _take_statistics(relation text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM require(relation = ANY (analysed_tables()), format(
        'relation must be one of %s, got %s',
        array_to_string(analysed_tables(), ', '), quote_nullable(left(relation, 60))));
    EXECUTE format('ANALYZE %I.%I', current_schema(), relation);
END
$function$;

REVOKE ALL ON FUNCTION _take_statistics FROM PUBLIC;

COMMENT ON FUNCTION _take_statistics IS
    'Analyses one of the tables of memories, for roles that do not own it.';

CREATE OR REPLACE FUNCTION _begin_maintenance(agent text, policy jsonb, run uuid DEFAULT NULL)
    RETURNS uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    begun uuid := coalesce(run, event_id());
BEGIN
    PERFORM _require_policy(policy);
    IF agent IS NOT NULL THEN
        PERFORM require_owner(agent);
    END IF;
    INSERT INTO maintenance_runs (agent_id, id, policy, started_at)
    VALUES (coalesce(agent, ''), begun, '{"name": "default"}' || jsonb_strip_nulls(policy),
            clock_timestamp());
    RETURN begun;
END
$verb$;

COMMENT ON FUNCTION _begin_maintenance IS
    'Adds a run with its policy to maintenance_runs, as one that has not finished: for one agent, '
    'or for all if agent is NULL.';

CREATE OR REPLACE FUNCTION _end_maintenance(agent text, run uuid, tasks jsonb) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
BEGIN
    UPDATE maintenance_runs r
       SET tasks = _end_maintenance.tasks, finished = NOT _end_maintenance.tasks ? 'left',
           seconds = greatest(date_part('epoch', moment - r.started_at), 0)
     WHERE r.agent_id = coalesce(agent, '') AND r.id = run;
END
$verb$;

COMMENT ON FUNCTION _end_maintenance IS
    'Notes in maintenance_runs how many tasks of each kind a run did and left.';

CREATE OR REPLACE FUNCTION _delete_old_runs(agent text, run uuid) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    policy jsonb := (SELECT r.policy FROM maintenance_runs r
                      WHERE r.agent_id = coalesce(agent, '') AND r.id = run);
    old uuid[] := _old_runs(agent, policy);
    number bigint;
BEGIN
    DELETE FROM maintenance_runs r
     WHERE r.id = ANY (old) AND r.id <> run AND (agent IS NULL OR r.agent_id = agent);
    GET DIAGNOSTICS number = ROW_COUNT;
    UPDATE maintenance_runs r SET runs = number
     WHERE r.agent_id = coalesce(agent, '') AND r.id = run;
    RETURN number;
END
$verb$;

COMMENT ON FUNCTION _delete_old_runs IS
    'Deletes runs from maintenance_runs that are older than the policy of this one allows; returns '
    'their number.';

CREATE OR REPLACE FUNCTION _log_all_usage(agent text) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    indexed text;
BEGIN
    FOR indexed IN SELECT r.agent_id FROM rank_indexes r
                    WHERE agent IS NULL OR r.agent_id = agent ORDER BY r.agent_id LOOP
        PERFORM log_usage(indexed);
    END LOOP;
END
$verb$;

COMMENT ON FUNCTION _log_all_usage IS
    'Calls log_usage for the rank index of an agent, or of all: for uses that their writers did '
    'not log.';

-- Placed in batches that commit. If nobody has waited for writers, it only drops an index.
CREATE OR REPLACE PROCEDURE _maintain_rank_index(
    agent text, at_least bigint, waited timestamptz)
    LANGUAGE plpgsql
AS $procedure$
DECLARE
    none pg_catalog.timestamptz := '-infinity';
    state pg_catalog.record;
    ids pg_catalog.uuid[];
BEGIN
    SELECT * INTO state FROM @extschema@.rank_index_states(agent, at_least);
    IF state.shrunk THEN
        PERFORM @extschema@.drop_rank_index(agent);
    ELSIF waited IS NOT NULL AND state.due IS NOT NULL THEN
        CALL @extschema@.build_rank_index(
            agent, COALESCE(state.used_at_least, at_least),
            COALESCE(state.m, @M@), COALESCE(state.ef_construction, @EF_CONSTRUCTION@), NULL,
            COALESCE(state.built_at, none), waited);
    ELSIF waited IS NOT NULL AND state.built_at IS NOT NULL THEN
        PERFORM @extschema@.log_usage(agent);
        ids := @extschema@.memories_beside(agent);
        COMMIT;
        FOR place IN 1 .. pg_catalog.cardinality(ids) BY 200 LOOP
            PERFORM @extschema@.lift_limits();
            PERFORM @extschema@.place_memories(agent, ids[place : place + 199]);
            COMMIT;
        END LOOP;
        PERFORM @extschema@.lift_limits();
        PERFORM @extschema@.note_placed(agent, state.built_at, waited);
    END IF;
    COMMIT;
    PERFORM @extschema@.lift_limits();
END
$procedure$;

COMMENT ON PROCEDURE _maintain_rank_index IS
    'Drops, builds or brings up to date the rank index of an agent, with its own settings. waited '
    'is what await_writers returned.';

-- Each task is a transaction or several, so this cannot run inside another one. Two at once do no
-- harm: rows that one has locked are judged again, and an index that the other has built is not
-- built again. A task that has been begun is finished, but for retention, of which batches are
-- left; what may take longer than there is time is left at once. A writer that does not end is
-- waited for once: what needs its rows is left, and the rest is done.
CREATE OR REPLACE PROCEDURE maintain(
    agent text DEFAULT NULL, policy jsonb DEFAULT '{}', dry_run boolean DEFAULT true,
    within_seconds float8 DEFAULT 3600, at_least bigint DEFAULT 5000,
    INOUT result jsonb DEFAULT '{}')
    LANGUAGE plpgsql
AS $verb$
#variable_conflict use_variable
DECLARE
    until pg_catalog.timestamptz := pg_catalog.clock_timestamp()
        + LEAST(GREATEST(COALESCE(within_seconds, 1e9), 0), 1e9)
          * pg_catalog.make_interval(secs => 1);
    counts CONSTANT pg_catalog.text[] := '{scanned,archived,deleted,completed,orphans,events,runs}';
    run pg_catalog.uuid;
    due pg_catalog.record;
    after pg_catalog.uuid;
    more pg_catalog.bool;
    kind pg_catalog.text;
    tasks pg_catalog.jsonb := '{}';
    waited pg_catalog.timestamptz;
    waits pg_catalog.bool := false;
BEGIN
    PERFORM @extschema@.require(dry_run IS NOT NULL, 'dry_run must be true or false, got NULL'),
            @extschema@.require_count('at_least', at_least, 1, 2147483647),
            @extschema@.lift_limits();
    result := (SELECT pg_catalog.jsonb_object_agg(name, 0) FROM pg_catalog.unnest(counts) name);
    IF NOT dry_run THEN
        run := @extschema@._begin_maintenance(agent, policy);
        COMMIT;
    END IF;
    FOR due IN SELECT * FROM @extschema@._maintenance_due(agent, policy, at_least) LOOP
        PERFORM @extschema@.lift_limits();
        kind := due.task;
        waited := NULL;
        IF dry_run THEN
            result := result || (
                SELECT COALESCE(pg_catalog.jsonb_object_agg(
                           c.key, (result -> c.key)::pg_catalog.int8 + c.value::pg_catalog.int8),
                           '{}')
                  FROM pg_catalog.jsonb_each_text(due.counts) c);
        ELSIF pg_catalog.clock_timestamp() > until OR kind <> 'retention'
              AND pg_catalog.clock_timestamp()
                  + due.seconds * pg_catalog.make_interval(secs => 1) > until THEN
            kind := 'left';
        ELSIF kind IN ('build index', 'place') THEN
            IF NOT waits THEN
                waited := @extschema@.await_writers(due.name, LEAST(
                    60, pg_catalog.date_part('epoch', until - pg_catalog.clock_timestamp())));
                COMMIT;
                PERFORM @extschema@.lift_limits();
                waits := waited IS NULL;
            END IF;
            kind := CASE WHEN waits THEN 'left' ELSE kind END;
        END IF;
        RAISE NOTICE '%, %: %', CASE WHEN dry_run THEN 'would do: ' || kind
                                     WHEN kind = 'left' THEN 'left: ' || due.task
                                     ELSE kind END, due.name, due.why;
        IF dry_run THEN
            NULL;
        ELSIF kind = 'retention' THEN
            after := NULL;
            LOOP
                SELECT b.last_id, b.more INTO after, more
                  FROM @extschema@._retain_batch(due.name, run, after) b;
                COMMIT;
                PERFORM @extschema@.lift_limits();
                EXIT WHEN NOT more;
                IF pg_catalog.clock_timestamp() > until THEN
                    kind := 'left';
                    EXIT;
                END IF;
            END LOOP;
        ELSIF kind = 'old runs' THEN
            PERFORM @extschema@._delete_old_runs(agent, run);
            COMMIT;
        ELSIF kind = 'statistics' THEN
            PERFORM @extschema@._take_statistics(due.name);
            COMMIT;
        ELSIF kind <> 'left' THEN
            CALL @extschema@._maintain_rank_index(due.name, at_least, waited);
        END IF;
        tasks := pg_catalog.jsonb_set(tasks, ARRAY[kind], pg_catalog.to_jsonb(
            COALESCE((tasks -> kind)::pg_catalog.int8, 0) + 1));
    END LOOP;
    IF NOT dry_run THEN
        PERFORM @extschema@.lift_limits();
        PERFORM @extschema@._log_all_usage(agent);
        COMMIT;
        PERFORM @extschema@.lift_limits();
        PERFORM @extschema@.on_every_node('drop_positions');
        COMMIT;
        PERFORM @extschema@.lift_limits();
        PERFORM @extschema@.on_every_node('align_positions');
        PERFORM @extschema@._end_maintenance(agent, run, tasks);
        result := (SELECT pg_catalog.jsonb_object_agg(c.key, c.value)
                     FROM @extschema@.maintenance_runs r,
                          pg_catalog.jsonb_each(pg_catalog.to_jsonb(r)) c
                    WHERE r.agent_id = COALESCE(agent, '') AND r.id = run
                      AND c.key = ANY (counts));
    END IF;
    result := result || pg_catalog.jsonb_build_object('dry_run', dry_run, 'tasks', tasks);
END
$verb$;

COMMENT ON PROCEDURE maintain IS
    'Says what is due; with dry_run => false, does it within this time: expired memories, a '
    'retention policy, statistics, rank indexes. Returns how many memories changed, and how many '
    'tasks of each kind were done and left. Made for pg_cron; the next run does what is left.';

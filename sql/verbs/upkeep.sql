-- For maintainers.
CREATE OR REPLACE FUNCTION take_statistics(relation text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $function$
BEGIN
    IF relation <> ALL (analysed_tables()) OR relation IS NULL THEN
        RAISE EXCEPTION 'relation must be one of %, got %',
            array_to_string(analysed_tables(), ', '), quote_nullable(left(relation, 60))
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('ANALYZE %I.%I', current_schema(), relation);
END
$function$;

REVOKE ALL ON FUNCTION take_statistics FROM PUBLIC;

COMMENT ON FUNCTION take_statistics IS
    'Analyses one of the tables of memories, for roles that do not own it.';

CREATE OR REPLACE FUNCTION end_upkeep(agent text, run uuid, done jsonb, unfinished boolean)
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    moment timestamptz := clock_timestamp();
BEGIN
    PERFORM require(jsonb_typeof(done) = 'object', 'done must be an object of numbers');
    UPDATE gc_runs r
       SET tasks = done,
           seconds = greatest(date_part('epoch', moment - r.started_at), 0)
     WHERE r.agent_id = coalesce(end_upkeep.agent, '') AND r.id = end_upkeep.run;
    IF NOT unfinished THEN
        PERFORM end_garbage_run(agent, run);
    END IF;
END
$verb$;

COMMENT ON FUNCTION end_upkeep IS
    'Notes in gc_runs how many tasks of each kind an upkeep did and left.';

-- Each task is a transaction or several, so this cannot run inside another one. Two at once do no
-- harm: rows that one has locked are judged again, and an index that the other has built is not
-- built again. A task that has been begun is finished, but for garbage, of which batches are left;
-- what may take longer than there is time is left at once. A writer that does not end is waited for
-- once: what needs its rows is left, and the rest is done.
CREATE OR REPLACE PROCEDURE upkeep(
    within_seconds float8 DEFAULT 3600, agent text DEFAULT NULL, at_least bigint DEFAULT 5000,
    min_trust_threshold float8 DEFAULT NULL, max_age_hours float8 DEFAULT NULL,
    delete_threshold float8 DEFAULT NULL, max_live bigint DEFAULT NULL,
    max_event_age_hours float8 DEFAULT NULL, max_run_age_hours float8 DEFAULT NULL,
    INOUT done jsonb DEFAULT '{}')
    LANGUAGE plpgsql
AS $verb$
#variable_conflict use_variable
DECLARE
    until pg_catalog.timestamptz := pg_catalog.clock_timestamp()
        + LEAST(GREATEST(COALESCE(within_seconds, 1e9), 0), 1e9)
          * pg_catalog.make_interval(secs => 1);
    run pg_catalog.uuid;
    due pg_catalog.record;
    after pg_catalog.uuid;
    more pg_catalog.bool;
    kind pg_catalog.text;
    waited pg_catalog.timestamptz;
    waits pg_catalog.bool := false;
BEGIN
    done := '{}';
    PERFORM @extschema@.require_count('at_least', at_least, 1, 2147483647);
    PERFORM @extschema@.lift_limits();
    run := @extschema@.begin_garbage_run(
        agent, min_trust_threshold, max_age_hours, delete_threshold, max_live, max_event_age_hours,
        max_run_age_hours, 'upkeep');
    PERFORM @extschema@.end_upkeep(agent, run, done, true);  -- unless it is interrupted
    COMMIT;
    FOR due IN SELECT * FROM @extschema@.upkeep_due(
            agent, at_least, min_trust_threshold, max_age_hours, delete_threshold, max_live,
            max_event_age_hours, max_run_age_hours) LOOP
        PERFORM @extschema@.lift_limits();
        kind := due.task;
        waited := NULL;
        IF pg_catalog.clock_timestamp() + due.seconds * pg_catalog.make_interval(secs => 1) > until
           AND kind <> 'garbage' OR pg_catalog.clock_timestamp() > until THEN
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
        IF kind = 'left' THEN
            RAISE NOTICE 'left: %, %: %', due.task, due.name, due.why;
        ELSE
            RAISE NOTICE '%, %: %', kind, due.name, due.why;
        END IF;
        IF kind = 'garbage' THEN
            after := NULL;
            LOOP
                SELECT b.last_id, b.more INTO after, more
                  FROM @extschema@.collect_garbage_batch(due.name, run, after) b;
                COMMIT;
                PERFORM @extschema@.lift_limits();
                EXIT WHEN NOT more;
                IF pg_catalog.clock_timestamp() > until THEN
                    kind := 'left';
                    EXIT;
                END IF;
            END LOOP;
        ELSIF kind = 'statistics' THEN
            PERFORM @extschema@.take_statistics(due.name);
            COMMIT;
        ELSIF kind = 'drop index' THEN
            PERFORM @extschema@.drop_rank_index(due.name)
               FROM @extschema@.rank_index_states(due.name, at_least) s WHERE s.shrunk;
            COMMIT;
        ELSIF kind <> 'left' THEN
            CALL @extschema@.maintain_rank_indexes(due.name, at_least, waited => waited);
            PERFORM @extschema@.lift_limits();
        END IF;
        done := pg_catalog.jsonb_set(done, ARRAY[kind], pg_catalog.to_jsonb(
            COALESCE((done -> kind)::pg_catalog.int8, 0) + 1));
    END LOOP;
    PERFORM @extschema@.lift_limits();
    PERFORM @extschema@.on_every_node('drop_positions');
    COMMIT;
    PERFORM @extschema@.lift_limits();
    PERFORM @extschema@.on_every_node('align_positions');
    PERFORM @extschema@.end_upkeep(agent, run, done, done ? 'left');
END
$verb$;

COMMENT ON PROCEDURE upkeep IS
    'Does what is due within this time, and returns how many tasks of each kind it did and left: '
    'garbage by a policy, at first only what expired; rank indexes; statistics. Made for pg_cron; '
    'what is left is done the next time.';

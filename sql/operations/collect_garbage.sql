-- Each batch is a transaction of its own, so this cannot run inside another one. It has no SET
-- search_path, with which a procedure may not commit; instead it looks up where it lives itself,
-- and says so before anything else and anew after every commit.
CREATE PROCEDURE collect_garbage(
    agent text DEFAULT NULL,
    min_trust_threshold float8 DEFAULT 0.2,
    max_age_hours float8 DEFAULT 720,
    delete_threshold float8 DEFAULT 0.1,
    max_live bigint DEFAULT NULL,
    dry_run boolean DEFAULT false,
    policy text DEFAULT 'default',
    batch_size integer DEFAULT 1000,
    INOUT scanned bigint DEFAULT 0,
    INOUT archived bigint DEFAULT 0,
    INOUT deleted bigint DEFAULT 0,
    INOUT swept bigint DEFAULT 0
)
    LANGUAGE plpgsql
AS $operation$
#variable_conflict use_variable
DECLARE
    routine oid;
    ours text;
    theirs text;
    owners text[];
    whose text;
    run uuid;
    log_owner text := coalesce(agent, '');
    began timestamptz := now();
    last uuid;
    step record;
    changed bigint;
BEGIN
    GET DIAGNOSTICS routine = PG_ROUTINE_OID;
    SELECT pg_catalog.format('%I, pg_temp', n.nspname) INTO ours
      FROM pg_catalog.pg_proc p
      JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
     WHERE p.oid OPERATOR(pg_catalog.=) routine;
    theirs := pg_catalog.current_setting('search_path');
    PERFORM pg_catalog.set_config('search_path', ours, true);
    IF dry_run IS NULL OR agent = '' IS TRUE OR policy IS NULL OR policy = ''
       OR batch_size IS NULL OR NOT batch_size BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION 'dry_run is true or false, agent and policy must not be empty, and '
            'batch_size lies within 1 and 100000; got %, %, % and %',
            dry_run, agent, policy, batch_size
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (coalesce(min_trust_threshold, 0) BETWEEN 0 AND 1
        AND coalesce(delete_threshold, 0) BETWEEN 0 AND 1
        AND coalesce(max_age_hours, 0) BETWEEN 0 AND 8766000
        AND coalesce(max_live, 0) >= 0) IS NOT TRUE THEN
        RAISE EXCEPTION 'thresholds lie within 0 and 1, max_age_hours within 0 and 8766000, and '
            'max_live is not negative; got %, %, % and %',
            min_trust_threshold, delete_threshold, max_age_hours, max_live
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    scanned := 0; archived := 0; deleted := 0; swept := 0;
    owners := CASE WHEN agent IS NULL THEN owners_of_memories(true)
                   ELSE ARRAY[agent] END;
    IF NOT dry_run THEN
        run := event_id();
        INSERT INTO gc_runs AS r
               (agent_id, id, policy, min_trust_threshold, delete_threshold,
                max_age_hours, max_live, scanned, archived, deleted, swept, started_at, seconds,
                finished)
        VALUES (log_owner, run, policy,
                min_trust_threshold, delete_threshold, max_age_hours, max_live, 0, 0, 0, 0, began,
                0, false);
        COMMIT;
    END IF;
    FOREACH whose IN ARRAY owners LOOP
        PERFORM pg_catalog.set_config('search_path', ours, true);
        IF dry_run THEN
            SELECT * INTO step FROM count_garbage(
                whose, min_trust_threshold, max_age_hours, delete_threshold, max_live) g;
            scanned := scanned + step.scanned;
            archived := archived + step.archived;
            deleted := deleted + step.deleted;
            swept := swept + step.swept;
            CONTINUE;
        END IF;
        last := NULL;
        LOOP
            PERFORM pg_catalog.set_config('search_path', ours, true);
            SELECT * INTO step FROM collect_garbage_batch(
                whose, last, min_trust_threshold, max_age_hours, delete_threshold, policy,
                batch_size) b;
            last := step.last_id;
            scanned := scanned + step.scanned;
            archived := archived + step.archived;
            deleted := deleted + step.deleted;
            UPDATE gc_runs r SET scanned = collect_garbage.scanned,
                   archived = collect_garbage.archived, deleted = collect_garbage.deleted,
                   swept = collect_garbage.swept, seconds = date_part('epoch', now() - began)
             WHERE r.agent_id = log_owner AND r.id = run;
            COMMIT;
            EXIT WHEN step.scanned < batch_size;
        END LOOP;
        LOOP
            EXIT WHEN max_live IS NULL;
            PERFORM pg_catalog.set_config('search_path', ours, true);
            SELECT count(*) INTO changed
              FROM archive_excess_batch(whose, max_live, policy, batch_size) e;
            archived := archived + changed;
            UPDATE gc_runs r SET scanned = collect_garbage.scanned,
                   archived = collect_garbage.archived, deleted = collect_garbage.deleted,
                   swept = collect_garbage.swept, seconds = date_part('epoch', now() - began)
             WHERE r.agent_id = log_owner AND r.id = run;
            COMMIT;
            EXIT WHEN changed < batch_size;
        END LOOP;
        LOOP
            PERFORM pg_catalog.set_config('search_path', ours, true);
            changed := sweep_orphans_batch(whose, batch_size);
            swept := swept + changed;
            UPDATE gc_runs r SET scanned = collect_garbage.scanned,
                   archived = collect_garbage.archived, deleted = collect_garbage.deleted,
                   swept = collect_garbage.swept, seconds = date_part('epoch', now() - began)
             WHERE r.agent_id = log_owner AND r.id = run;
            COMMIT;
            EXIT WHEN changed < batch_size;
        END LOOP;
    END LOOP;
    IF NOT dry_run THEN
        PERFORM pg_catalog.set_config('search_path', ours, true);
        UPDATE gc_runs r SET scanned = collect_garbage.scanned,
               archived = collect_garbage.archived, deleted = collect_garbage.deleted,
               swept = collect_garbage.swept, finished = true,
               seconds = date_part('epoch', clock_timestamp() - began)
         WHERE r.agent_id = log_owner AND r.id = run;
    END IF;
    PERFORM pg_catalog.set_config('search_path', theirs, true);
END
$operation$;

COMMENT ON PROCEDURE collect_garbage IS
    'Archives and deletes live memories by a policy, of one agent or of all, in batches that commit; a row in gc_runs tells how it went.';

-- For maintainers.
-- Each batch is a transaction of its own, so this cannot run inside another one. A procedure that
-- commits can have no SET search_path, so names are written in full.
CREATE OR REPLACE PROCEDURE collect_garbage(
    agent text DEFAULT NULL, min_trust_threshold float8 DEFAULT 0.2,
    max_age_hours float8 DEFAULT 720, delete_threshold float8 DEFAULT 0.1,
    max_live bigint DEFAULT NULL, max_event_age_hours float8 DEFAULT NULL,
    max_run_age_hours float8 DEFAULT NULL, dry_run boolean DEFAULT false,
    policy text DEFAULT 'default', batch_size integer DEFAULT 1000, INOUT scanned bigint DEFAULT 0,
    INOUT archived bigint DEFAULT 0, INOUT deleted bigint DEFAULT 0, INOUT swept bigint DEFAULT 0,
    INOUT events bigint DEFAULT 0, INOUT runs bigint DEFAULT 0)
    LANGUAGE plpgsql
AS $verb$
#variable_conflict use_variable
DECLARE
    owners pg_catalog.text[];
    whose pg_catalog.text;
    run pg_catalog.uuid;
    after pg_catalog.uuid;
    more pg_catalog.bool;
BEGIN
    PERFORM @extschema@.require_count('batch_size', batch_size, 1, @MAX_BATCH@);
    PERFORM @extschema@.require_garbage_policy(
        min_trust_threshold, max_age_hours, delete_threshold, max_live, max_event_age_hours,
        max_run_age_hours, policy);
    IF dry_run IS NULL THEN
        RAISE EXCEPTION 'dry_run must be true or false, got NULL'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF agent IS NULL THEN
        owners := ARRAY(SELECT o.agent_id FROM @extschema@.owners_of_memories(true) o);
    ELSE
        PERFORM @extschema@.require_owner(agent);
        owners := ARRAY[agent];
    END IF;
    PERFORM @extschema@.lift_limits();
    IF dry_run THEN
        SELECT coalesce(pg_catalog.sum(c.scanned), 0), coalesce(pg_catalog.sum(c.archived), 0),
               coalesce(pg_catalog.sum(c.deleted), 0), coalesce(pg_catalog.sum(c.swept), 0),
               coalesce(pg_catalog.sum(c.events), 0), coalesce(pg_catalog.sum(c.runs), 0)
          INTO scanned, archived, deleted, swept, events, runs
          FROM pg_catalog.unnest(owners) o(owner),
               @extschema@.count_garbage(
                   o.owner, min_trust_threshold, max_age_hours, delete_threshold, max_live,
                   max_event_age_hours, max_run_age_hours) c;
        IF agent IS NULL THEN
            runs := runs + @extschema@.count_runs(NULL, max_run_age_hours);
        END IF;
        RETURN;
    END IF;
    run := @extschema@.begin_garbage_run(
        agent, min_trust_threshold, max_age_hours, delete_threshold, max_live, max_event_age_hours,
        max_run_age_hours, policy);
    COMMIT;
    PERFORM @extschema@.lift_limits();
    FOREACH whose IN ARRAY owners LOOP
        after := NULL;
        LOOP
            SELECT b.last_id, b.more INTO after, more
              FROM @extschema@.collect_garbage_batch(whose, run, after, batch_size) b;
            COMMIT;
            PERFORM @extschema@.lift_limits();
            EXIT WHEN NOT more;
        END LOOP;
    END LOOP;
    SELECT r.scanned, r.archived, r.deleted, r.swept, r.events, r.runs
      INTO scanned, archived, deleted, swept, events, runs
      FROM @extschema@.end_garbage_run(agent, run) r;
END
$verb$;

COMMENT ON PROCEDURE collect_garbage IS
    'Archives and deletes live memories by a policy, of one owner or of all, in batches that '
    'commit; gc_runs records the result.';

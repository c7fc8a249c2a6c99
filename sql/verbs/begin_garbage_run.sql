-- For maintainers.
CREATE OR REPLACE FUNCTION begin_garbage_run(
    agent text DEFAULT NULL, min_trust_threshold float8 DEFAULT 0.2,
    max_age_hours float8 DEFAULT 720, delete_threshold float8 DEFAULT 0.1,
    max_live bigint DEFAULT NULL, max_event_age_hours float8 DEFAULT NULL,
    max_run_age_hours float8 DEFAULT NULL, policy text DEFAULT 'default', run uuid DEFAULT NULL)
    RETURNS uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    begun uuid := coalesce(run, event_id());
BEGIN
    IF agent IS NOT NULL THEN
        PERFORM require_owner(agent);
    END IF;
    PERFORM require_garbage_policy(
        min_trust_threshold, max_age_hours, delete_threshold, max_live, max_event_age_hours,
        max_run_age_hours, policy);
    INSERT INTO gc_runs (agent_id, id, policy, min_trust_threshold, delete_threshold,
                         max_age_hours, max_live, max_event_age_hours, max_run_age_hours, scanned,
                         archived, deleted, swept, events, runs, started_at, seconds, finished)
    VALUES (coalesce(agent, ''), begun, policy, min_trust_threshold, delete_threshold,
            max_age_hours, max_live, max_event_age_hours, max_run_age_hours, 0, 0, 0, 0, 0, 0,
            clock_timestamp(), 0, false);
    RETURN begun;
END
$verb$;

COMMENT ON FUNCTION begin_garbage_run IS
    'Adds a garbage collection with its policy to gc_runs: of one owner, or of all if agent is '
    'NULL. Call collect_garbage_batch next, and end_garbage_run at the end.';

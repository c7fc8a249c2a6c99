-- For maintainers.
CREATE OR REPLACE FUNCTION expire_runs(agent text, but uuid, max_run_age_hours float8)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
DECLARE
    before timestamptz := now() - max_run_age_hours * interval '1 hour';
    expired bigint;
BEGIN
    DELETE FROM gc_runs r
     WHERE r.agent_id = coalesce(agent, '') AND r.id <> but AND r.started_at < before;
    GET DIAGNOSTICS expired = ROW_COUNT;
    RETURN expired;
END
$function$;

COMMENT ON FUNCTION expire_runs IS
    'Deletes from gc_runs the garbage collections of an owner (NULL: those of all owners) that are '
    'older than this, except but; returns their number.';

CREATE OR REPLACE FUNCTION end_garbage_run(agent text, run uuid) RETURNS SETOF gc_runs
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    moment timestamptz := clock_timestamp();
    log_owner text := coalesce(agent, '');
    expired bigint := (SELECT expire_runs(agent, run, r.max_run_age_hours) FROM gc_runs r
                        WHERE r.agent_id = log_owner AND r.id = run);
BEGIN
    UPDATE gc_runs r
       SET seconds = greatest(date_part('epoch', moment - r.started_at), 0), finished = true,
           runs = r.runs + expired
     WHERE r.agent_id = log_owner AND r.id = run;
    RETURN QUERY SELECT r.* FROM gc_runs r WHERE r.agent_id = log_owner AND r.id = run;
END
$verb$;

COMMENT ON FUNCTION end_garbage_run IS
    'Marks a garbage collection in gc_runs as finished and returns its row; agent as in '
    'begin_garbage_run.';

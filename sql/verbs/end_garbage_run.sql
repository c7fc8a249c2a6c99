-- For maintainers.
CREATE OR REPLACE FUNCTION end_garbage_run(agent text, run uuid) RETURNS SETOF gc_runs
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    moment timestamptz := clock_timestamp();
    log_owner text := coalesce(agent, '');
BEGIN
    UPDATE gc_runs r
       SET seconds = greatest(date_part('epoch', moment - r.started_at), 0), finished = true
     WHERE r.agent_id = log_owner AND r.id = run;
    RETURN QUERY SELECT r.* FROM gc_runs r WHERE r.agent_id = log_owner AND r.id = run;
END
$verb$;

COMMENT ON FUNCTION end_garbage_run IS
    'Marks a garbage collection in gc_runs as finished and returns its row; agent as in begin_garbage_run.';

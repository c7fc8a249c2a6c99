-- For maintainers.
-- A transaction that wrote before and has not committed is not seen by a build that starts now,
-- and what it wrote bears an earlier time than the build's: it would be in neither.
CREATE OR REPLACE FUNCTION await_writers(seconds float8) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    moment timestamptz := clock_timestamp();
    writers text[] := ARRAY(
        SELECT DISTINCT virtualtransaction FROM pg_locks
         WHERE locktype = 'relation' AND relation = 'agent_memories'::regclass AND granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid());
BEGIN
    WHILE EXISTS (SELECT FROM pg_locks WHERE virtualtransaction = ANY (writers)
                     AND locktype = 'virtualxid') LOOP
        IF clock_timestamp() >= moment + await_writers.seconds * interval '1 second' THEN
            RETURN NULL;
        END IF;
        PERFORM pg_sleep(0.02);
    END LOOP;
    RETURN moment;
END
$function$;

COMMENT ON FUNCTION await_writers IS
    'Waits until every transaction that has written memories by now has ended, without a lock of its own, and returns the moment that it was called; NULL when some have not after so many seconds.';

-- A transaction that wrote before and has not committed is not seen by a build that starts now,
-- and what it wrote bears an earlier time than the build's: it would be in neither.
CREATE FUNCTION await_writers(memories regclass, seconds float8) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $function$
DECLARE
    until timestamptz := clock_timestamp() + seconds * interval '1 second';
    writers text[] := ARRAY(
        SELECT DISTINCT virtualtransaction FROM pg_locks
         WHERE locktype = 'relation' AND relation = memories AND granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid());
BEGIN
    WHILE EXISTS (SELECT FROM pg_locks WHERE virtualtransaction = ANY (writers)
                     AND locktype = 'virtualxid') LOOP
        IF clock_timestamp() >= until THEN
            RETURN false;
        END IF;
        PERFORM pg_sleep(0.02);
    END LOOP;
    RETURN true;
END
$function$;

COMMENT ON FUNCTION await_writers IS
    'Waits until every transaction that has written to the table by now has ended, without a lock of its own; false when some have not after so many seconds.';

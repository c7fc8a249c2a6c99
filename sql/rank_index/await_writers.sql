-- For maintainers.
-- A build does not see rows of a transaction that has not committed. These rows also bear an
-- earlier time than the build, so a search would not score them beside the index either. And a
-- transaction that has noted a use before the build commits has noted it in the former index.
CREATE OR REPLACE FUNCTION await_writers(seconds float8, written text DEFAULT 'agent_memories')
    RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    moment timestamptz := clock_timestamp();
    writers text[] := ARRAY(
        SELECT DISTINCT virtualtransaction FROM pg_locks
         WHERE locktype = 'relation' AND relation = written::regclass AND granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid());
BEGIN
    PERFORM require_one_node();
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
    'Waits, without a lock of its own, until every transaction that has written this table so far has ended. Returns the moment of the call, or NULL if some have not ended after this many seconds.';

-- For maintainers.
-- A build does not see rows of a transaction that has not committed. These rows also bear an
-- earlier time than the build, so a search would not score them beside the index either. And a
-- transaction that has noted a use before the build commits has noted it in the former index.
-- On Citus, a statement locks the table on the node that plans it and the owner's shard on the node
-- that runs it. So a build waits on both nodes, and the first moment counts, whatever their clocks
-- say.
CREATE OR REPLACE FUNCTION await_writers(
    agent text, seconds float8, written text DEFAULT 'agent_memories')
    RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    moment timestamptz := await_writers_here(seconds, written);
    there timestamptz;
BEGIN
    IF moment IS NOT NULL AND is_distributed() THEN
        PERFORM share_timeout(agent);
        SELECT await_writers_here(seconds, written, agent)
          INTO there FROM (SELECT count(*) FROM rank_indexes r WHERE r.agent_id = agent) one_row;
        moment := CASE WHEN there < moment OR there IS NULL THEN there ELSE moment END;
    END IF;
    RETURN moment;
END
$function$;

COMMENT ON FUNCTION await_writers IS
    'Waits, without a lock of its own, until every transaction that has written this table so far, '
    'for this owner or others, has ended. Returns the time of the call, or NULL if some have not '
    'ended after this many seconds.';

-- A transaction may become a prepared one in the meantime, which has no process.
CREATE OR REPLACE FUNCTION await_writers_here(
    seconds float8, written text DEFAULT 'agent_memories', agent text DEFAULT NULL)
    RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    moment timestamptz := clock_timestamp();
    locked regclass := CASE WHEN agent IS NULL THEN written::regclass
                            ELSE shard_here(written, agent) END;
    only_prepared boolean;
    writers text[];
BEGIN
    FOREACH only_prepared IN ARRAY '{false,true}'::boolean[] LOOP
        writers := ARRAY(
            SELECT DISTINCT l.virtualtransaction FROM pg_locks l
             WHERE l.locktype = 'relation' AND l.relation = locked AND l.granted
               AND l.database = (SELECT d.oid FROM pg_database d
                                  WHERE d.datname = current_database())
               AND l.mode = 'RowExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
               AND (l.pid IS NULL OR NOT only_prepared));
        WHILE EXISTS (SELECT FROM pg_locks l WHERE l.virtualtransaction = ANY (writers)
                         AND l.locktype IN ('virtualxid', 'transactionid')) LOOP
            IF clock_timestamp() >= moment + await_writers_here.seconds * interval '1 second' THEN
                RETURN NULL;
            END IF;
            PERFORM pg_sleep(0.02);
        END LOOP;
    END LOOP;
    RETURN moment;
END
$function$;

COMMENT ON FUNCTION await_writers_here IS
    'Does the part of await_writers on one node: waits for transactions that have written the '
    'table, or on Citus the shard of this owner.';

-- For readers.
CREATE OR REPLACE FUNCTION last_maintenance()
    RETURNS TABLE (started_at timestamptz, seconds float8, tasks jsonb, finished boolean)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.started_at, r.seconds, r.tasks, r.finished FROM maintenance_runs r
     WHERE r.agent_id = '' ORDER BY r.started_at DESC LIMIT 1;
END
$function$;

COMMENT ON FUNCTION last_maintenance IS
    'Returns the last maintenance of all owners: how many tasks of each kind it did, and '
    '`finished`, which is false if it left some.';

-- An index that nothing walked since its build is of no use, unless its owner is not asked either:
-- a build walks it, too, at its end.
CREATE OR REPLACE FUNCTION health(
    at_least bigint DEFAULT 5000, max_memories bigint DEFAULT 1000000,
    max_age interval DEFAULT '2 days')
    RETURNS TABLE (problem text, name text, why text, remedy text)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    usable boolean := hnsw_state() <> 'refused';
    run text := 'pgrecall maintain';
    index record;
    last record;
BEGIN
    PERFORM require_count('at_least', at_least, 1, 2147483647);
    IF row_security_active('agent_memories') THEN
        RETURN QUERY
        SELECT 'row security', current_user::text, 'policies hide other owners from this role',
               'ask as the owner of the schema';
        RETURN;
    ELSIF at_least <> 5000 THEN
        run := format('%s --at-least %s', run, at_least);
    END IF;
    RETURN QUERY
    SELECT 'collation', d.datname::text,
           format('made with version %s, this server has %s: indexes of texts may be out of order',
                  d.datcollversion, pg_database_collation_actual_version(d.oid)),
           format('REINDEX DATABASE CONCURRENTLY %1$I; '
                  'ALTER DATABASE %1$I REFRESH COLLATION VERSION', d.datname)
      FROM pg_database d
     WHERE d.datname = current_database()
       AND d.datcollversion <> pg_database_collation_actual_version(d.oid);
    RETURN QUERY
    SELECT 'statistics', t.name, t.stale, run FROM table_states() t WHERE t.stale IS NOT NULL;
    RETURN QUERY
    SELECT 'dead rows', t.name,
           format('%s of %s rows are dead, last vacuumed %s; a transaction or a replication slot '
                  'may hold them',
                  to_char(t.dead, 'FM999,999,999,999'),
                  to_char(t.dead + t.live, 'FM999,999,999,999'),
                  coalesce(date_trunc('second', t.vacuumed_at)::text, 'never')),
           format('VACUUM %I.%I', current_schema(), t.name)
      FROM table_states() t WHERE t.dead > 1000 + 0.3 * t.live;
    FOR index IN SELECT * FROM rank_index_states(at_least => at_least) LOOP
        name := index.agent_id;
        problem := 'rank index';
        IF index.due IS NOT NULL AND usable THEN
            why := index.due;
            remedy := run;
            RETURN NEXT;
        ELSIF index.due IS NOT NULL THEN
            why := format('pgvector %s is too old for it', pgvector_version());
            remedy := 'install pgvector 0.8.3 or newer, and ALTER EXTENSION vector UPDATE';
            RETURN NEXT;
        ELSIF index.used > 0 AND index.built_at < now() - interval '1 day' AND NOT is_distributed()
              AND NOT EXISTS (  -- counters that were reset since say nothing
                  SELECT FROM pg_stat_database d
                   WHERE d.datname = current_database() AND d.stats_reset > index.built_at)
              AND NOT EXISTS (
                  SELECT FROM pg_stat_all_indexes i
                    JOIN pg_class c ON c.oid = i.indexrelid
                    JOIN pg_am a ON a.oid = c.relam AND a.amname = 'hnsw'
                   WHERE i.relid = to_regclass(index.relation)
                     AND i.last_idx_scan > index.built_at + index.seconds * interval '1 s'
                                           + interval '1 minute') THEN
            problem := 'unused index';
            why := 'no search has used it since ' || date_trunc('second', index.built_at);
            remedy := '`pgrecall search --plan` shows how its owner is searched';
            RETURN NEXT;
        END IF;
        IF index.memories + index.written > max_memories
           AND active_memories(name, max_memories + 1) > max_memories THEN
            problem := 'large owner';
            why := 'more than ' || to_char(max_memories, 'FM999,999,999,999') || ' memories';
            remedy := '`pgrecall maintain --max-live`';
            RETURN NEXT;
        END IF;
    END LOOP;
    SELECT u.* INTO last FROM last_maintenance() u;
    IF NOT EXISTS (SELECT FROM maintenance_runs r
                    WHERE r.agent_id = '' AND r.finished
                      AND r.started_at > now() - max_age)
       AND EXISTS (SELECT FROM _maintenance_due(at_least => at_least, orphaned => false)) THEN
        problem := 'maintenance';
        name := current_schema();
        why := CASE WHEN last.finished IS NULL THEN 'tasks are due, and it never ran'
                    WHEN last.finished THEN 'tasks are due, and it last ran '
                                              || date_trunc('second', last.started_at)
                    WHEN last.tasks ? 'left'
                    THEN format('the last one left %s tasks', last.tasks ->> 'left')
                    ELSE 'the last one has not ended' END;
        remedy := run;
        RETURN NEXT;
    END IF;
END
$function$;

COMMENT ON FUNCTION health IS
    'Returns what needs doing: that policies hide owners, indexes of another collation, statistics '
    'and dead rows that autovacuum left, rank indexes that are due, missing or not used, owners of '
    'more than max_memories, and tasks of maintenance where no run was finished within max_age. No '
    'row: all is well.';

-- For maintainers.
-- Memories come first, then rows that memories deleted before have left. The rank index goes last,
-- in a transaction without other locks: a build that is under way has to end first, so that it
-- cannot bring the index back.
CREATE OR REPLACE FUNCTION erase_owner_batch(agent text, batch_size integer DEFAULT 1000)
    RETURNS TABLE (
        memories bigint, counters bigint, links bigint, events bigint, positions bigint,
        runs bigint, more boolean)
    LANGUAGE plpgsql ROWS 1 SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
DECLARE
    building bigint := hashtextextended(
        format('pgrecall rank index %s %s', current_schema(), agent), 0);
    ids uuid[];
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_count('batch_size', batch_size, 1, @MAX_BATCH@);
    ids := ARRAY(SELECT m.id FROM agent_memories m
                  WHERE m.agent_id = agent ORDER BY m.id LIMIT batch_size);
    IF ids = '{}' THEN
        ids := ARRAY(
            (SELECT DISTINCT e.memory_id FROM memory_events e
              WHERE e.agent_id = agent ORDER BY e.memory_id LIMIT batch_size)
            UNION
            (SELECT u.memory_id FROM memory_usage u
              WHERE u.agent_id = agent ORDER BY u.memory_id LIMIT batch_size)
            UNION
            (SELECT DISTINCT l.source_id FROM memory_links l
              WHERE l.agent_id = agent ORDER BY l.source_id LIMIT batch_size));
    END IF;
    more := ids <> '{}';
    runs := 0;
    DELETE FROM owner_vectors v WHERE v.agent_id = agent;
    IF more THEN
        SELECT r.* INTO memories, counters, links, events, positions
          FROM erase_rows(agent, ids) r;
    ELSE
        SELECT 0, 0, 0, 0, 0 INTO memories, counters, links, events, positions;
        PERFORM pg_advisory_xact_lock(building)
           FROM (SELECT count(*) FROM rank_indexes r WHERE r.agent_id = agent) one_row;
        PERFORM drop_rank_index(agent);
        DELETE FROM entity_names n WHERE n.agent_id = agent;
        DELETE FROM maintenance_runs r WHERE r.agent_id = agent;
        GET DIAGNOSTICS runs = ROW_COUNT;
    END IF;
    RETURN NEXT;
END
$verb$;

COMMENT ON FUNCTION erase_owner_batch IS
    'Does one batch of erase_owner: everything about the next memories of an owner; if none is '
    'left, its runs in maintenance_runs and its rank index. Call it again while more is true.';

-- Each table is read page by page, not row by row in the order of an index.
CREATE OR REPLACE FUNCTION count_rows(
    agent text, OUT memories bigint, OUT counters bigint, OUT links bigint, OUT events bigint,
    OUT runs bigint)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
AS $function$
#variable_conflict use_column
BEGIN
    memories := (SELECT count(*) FROM agent_memories m WHERE m.agent_id = agent);
    counters := (SELECT count(*) FROM memory_usage u WHERE u.agent_id = agent);
    links := (SELECT count(*) FROM memory_links l WHERE l.agent_id = agent);
    events := (SELECT count(*) FROM memory_events e WHERE e.agent_id = agent);
    runs := (SELECT count(*) FROM maintenance_runs r WHERE r.agent_id = agent);
END
$function$;

COMMENT ON FUNCTION count_rows IS
    'Returns the number of rows of each table that belong to an owner. It serves count_owner.';

CREATE OR REPLACE FUNCTION count_owner(agent text)
    RETURNS TABLE (
        memories bigint, counters bigint, links bigint, events bigint, positions bigint,
        runs bigint)
    LANGUAGE plpgsql STABLE ROWS 1 SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
BEGIN
    PERFORM require_owner(agent);
    SELECT r.memories, r.counters, r.links, r.events, r.runs
      INTO memories, counters, links, events, runs FROM count_rows(agent) r;
    positions := coalesce((SELECT count_positions(r.relation) FROM rank_indexes r
                            WHERE r.agent_id = agent), 0);
    RETURN NEXT;
END
$verb$;

COMMENT ON FUNCTION count_owner IS
    'Returns the numbers that erase_owner would report for an owner, without any change.';

-- Each batch is a transaction of its own, so this cannot run inside another one. A procedure that
-- commits can have no SET search_path, so names are written in full.
CREATE OR REPLACE PROCEDURE erase_owner(
    agent text, batch_size integer DEFAULT 1000, INOUT memories bigint DEFAULT 0,
    INOUT counters bigint DEFAULT 0, INOUT links bigint DEFAULT 0,
    INOUT events bigint DEFAULT 0, INOUT positions bigint DEFAULT 0, INOUT runs bigint DEFAULT 0)
    LANGUAGE plpgsql
AS $verb$
DECLARE
    batch pg_catalog.record;
BEGIN
    LOOP
        PERFORM @extschema@.lift_limits();
        SELECT * INTO batch FROM @extschema@.erase_owner_batch(agent, batch_size);
        COMMIT;
        memories := memories + batch.memories;
        counters := counters + batch.counters;
        links := links + batch.links;
        events := events + batch.events;
        positions := positions + batch.positions;
        runs := runs + batch.runs;
        EXIT WHEN NOT batch.more;
    END LOOP;
END
$verb$;

COMMENT ON PROCEDURE erase_owner IS
    'Deletes everything of an owner in batches that commit: memories, counters, links, '
    'history, its runs of maintenance and its rank index. Returns the number of rows of each. '
    'Repeat it if it was interrupted.';

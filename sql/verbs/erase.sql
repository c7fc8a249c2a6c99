-- For maintainers.
-- Every table is searched by the ids, whether the memories still exist or not: `forget` leaves
-- history behind. Memories are locked in the order of the key, so nothing is added to them
-- meanwhile.
CREATE OR REPLACE FUNCTION erase_rows(
    agent text, memory_ids uuid[], OUT memories bigint, OUT counters bigint, OUT links bigint,
    OUT events bigint, OUT positions bigint)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $change$
#variable_conflict use_column
BEGIN
    PERFORM FROM agent_memories m
      WHERE m.agent_id = agent AND m.id = ANY (memory_ids) ORDER BY m.id FOR UPDATE;
    DELETE FROM agent_memories m WHERE m.agent_id = agent AND m.id = ANY (memory_ids);
    GET DIAGNOSTICS memories = ROW_COUNT;
    -- Counters are locked in the order of the key, as counting does.
    PERFORM FROM memory_usage u
      WHERE u.agent_id = agent AND u.memory_id = ANY (memory_ids) ORDER BY u.memory_id FOR UPDATE;
    DELETE FROM memory_usage u WHERE u.agent_id = agent AND u.memory_id = ANY (memory_ids);
    GET DIAGNOSTICS counters = ROW_COUNT;
    DELETE FROM memory_links l
     WHERE l.agent_id = agent
       AND (l.source_id = ANY (memory_ids) OR l.target_id = ANY (memory_ids));
    GET DIAGNOSTICS links = ROW_COUNT;
    DELETE FROM memory_events e WHERE e.agent_id = agent AND e.memory_id = ANY (memory_ids);
    GET DIAGNOSTICS events = ROW_COUNT;
    positions := forget_positions(agent, memory_ids);
END
$change$;

COMMENT ON FUNCTION erase_rows IS
    'Deletes the rows of memories in all tables, history too; returns the number for each table. '
    'It serves erase and erase_owner.';

-- The order is that of the index of superseded memories, so that the query reads it, and not all
-- memories.
CREATE OR REPLACE FUNCTION replaced_by(agent text, memory_ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT
    SET enable_seqscan = off SET enable_sort = off
AS $change$
BEGIN
    RETURN ARRAY(SELECT m.id FROM agent_memories m
                  WHERE m.agent_id = agent AND m.superseded_by = ANY (memory_ids)
                    AND m.superseded_by IS NOT NULL
                  ORDER BY m.content_hash);
END
$change$;

COMMENT ON FUNCTION replaced_by IS
    'Returns the memories that any of these superseded. It serves erase.';

-- No index finds the events that name a memory, so all of the owner's history is read: page by
-- page, not row by row in the order of an index.
CREATE OR REPLACE FUNCTION erase_mentions(agent text, memory_ids uuid[]) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT
    SET enable_seqscan = off SET enable_indexscan = off
AS $change$
DECLARE
    naming constant text[] := '{superseded_by,target_id}';
    mentions bigint;
BEGIN
    UPDATE memory_events e
       SET old_values = e.old_values - naming, new_values = e.new_values - naming
     WHERE e.agent_id = agent AND e.event_type <> 'initial'
       AND ARRAY[e.old_values ->> 'superseded_by', e.new_values ->> 'superseded_by',
                 e.old_values ->> 'target_id', e.new_values ->> 'target_id'] && memory_ids::text[];
    GET DIAGNOSTICS mentions = ROW_COUNT;
    RETURN mentions;
END
$change$;

COMMENT ON FUNCTION erase_mentions IS
    'Removes the ids of memories from the history of others; returns the number of events that '
    'named them. It serves erase.';

-- A dry run erases, counts, and rolls back, so its numbers are those of a real run. memory_events
-- is append-only with this exception: ids of erased memories leave the history of others.
CREATE OR REPLACE FUNCTION erase(agent text, memory_ids uuid[], dry_run boolean DEFAULT false)
    RETURNS TABLE (
        memories bigint, counters bigint, links bigint, events bigint, positions bigint,
        mentions bigint, derived uuid[])
    LANGUAGE plpgsql ROWS 1 SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
DECLARE
    superseded uuid[];
    named text[];
BEGIN
    PERFORM require_owner(agent);
    PERFORM require(
        memory_ids IS NOT NULL, 'memory_ids must not be NULL: erase_owner erases everything');
    PERFORM require(dry_run IS NOT NULL, 'dry_run must be true or false, got NULL');
    superseded := replaced_by(agent, memory_ids);
    PERFORM FROM agent_memories m
      WHERE m.agent_id = agent AND m.id = ANY (superseded || memory_ids) ORDER BY m.id FOR UPDATE;
    derived := ARRAY(
        SELECT DISTINCT l.source_id FROM memory_links l
         WHERE l.agent_id = agent AND l.target_id = ANY (memory_ids) AND l.kind = 'consolidates'
           AND l.source_id <> ALL (memory_ids) ORDER BY l.source_id);
    named := ARRAY(
        SELECT unnest(m.entities || m.subject) FROM agent_memories m
         WHERE m.agent_id = agent AND m.id = ANY (memory_ids));
    BEGIN
        SELECT r.* INTO memories, counters, links, events, positions
          FROM erase_rows(agent, memory_ids) r;
        superseded := replaced_by(agent, memory_ids);
        UPDATE agent_memories m SET superseded_by = NULL
         WHERE m.agent_id = agent AND m.id = ANY (superseded);
        GET DIAGNOSTICS mentions = ROW_COUNT;
        mentions := mentions + erase_mentions(agent, memory_ids);
        IF dry_run THEN
            RAISE EXCEPTION USING ERRCODE = 'PM000';
        END IF;
    EXCEPTION WHEN SQLSTATE 'PM000' THEN
        NULL;
    END;
    IF NOT dry_run THEN
        PERFORM pg_advisory_xact_lock(owner_lock(agent));
        PERFORM refresh_owner(agent);
        DELETE FROM entity_names n
         WHERE n.agent_id = agent AND n.kind = 'alias' AND n.entity = ANY (named)
           AND NOT EXISTS (SELECT FROM entity_names o
                            WHERE o.agent_id = agent AND o.entity = n.entity
                              AND o.kind <> 'alias');
    END IF;
    RETURN NEXT;
END
$verb$;

COMMENT ON FUNCTION erase IS
    'Deletes memories and everything about them, history too, also of memories that were deleted '
    'before. Returns the number of rows of each table. The column mentions counts the places where '
    'other memories and their history named them; derived holds memories that consolidate them and '
    'may hold their text, which stay. With dry_run it only counts.';

-- For maintainers.
-- Locked rows are skipped: the transaction that deletes a memory deletes its counters and links.
-- For the few rows found, their memories are looked up again by key (OFFSET 0), since these
-- may have been stored in the meantime. Locked rows do not move, so they are deleted where they lie
-- (ctid): in an array, since a join by place may read the whole table.
CREATE OR REPLACE FUNCTION sweep_orphans_batch(agent text, batch_size integer DEFAULT 1000)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    gone uuid[] := orphaned(agent);
    counters bigint;
    links bigint;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_count('batch_size', batch_size, 1, @MAX_BATCH@);
    DELETE FROM memory_usage u
     WHERE u.agent_id = agent AND u.ctid = ANY (ARRAY(
            SELECT o.ctid
              FROM memory_usage o
             WHERE o.agent_id = agent AND o.memory_id = ANY (gone)
               AND NOT EXISTS (SELECT FROM agent_memories m
                                WHERE m.agent_id = agent AND m.id = o.memory_id OFFSET 0)
             ORDER BY o.memory_id LIMIT batch_size FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS counters = ROW_COUNT;
    DELETE FROM memory_links l
     WHERE l.agent_id = agent AND l.ctid = ANY (ARRAY(
            SELECT o.ctid
              FROM memory_links o
             WHERE o.agent_id = agent
               AND (o.source_id = ANY (gone) OR o.target_id = ANY (gone))
               AND (NOT EXISTS (SELECT FROM agent_memories m
                                 WHERE m.agent_id = agent AND m.id = o.source_id OFFSET 0)
                    OR NOT EXISTS (SELECT FROM agent_memories m
                                    WHERE m.agent_id = agent AND m.id = o.target_id OFFSET 0))
             ORDER BY o.source_id, o.target_id, o.kind LIMIT batch_size
               FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS links = ROW_COUNT;
    RETURN counters + links;
END
$verb$;

COMMENT ON FUNCTION sweep_orphans_batch IS
    'Does one batch of the garbage collection: removes counters and links of deleted memories, '
    'at most batch_size of each; returns their number.';

-- EXCEPT reads each table once. An anti-join may compare all rows of the owner with each other.
CREATE OR REPLACE FUNCTION orphaned(agent text) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN ARRAY(
        (SELECT u.memory_id FROM memory_usage u WHERE u.agent_id = agent
          UNION ALL
         SELECT l.source_id FROM memory_links l WHERE l.agent_id = agent
          UNION ALL
         SELECT l.target_id FROM memory_links l WHERE l.agent_id = agent)
        EXCEPT
        SELECT m.id FROM agent_memories m WHERE m.agent_id = agent);
END
$function$;

COMMENT ON FUNCTION orphaned IS
    'Returns the ids of deleted memories that counters or links of an owner still name.';

-- For readers.
-- Each step is a lookup in five keys, so the time depends on the number of owners, not of memories.
-- A loop, since Citus cannot plan a recursive query over owners.
CREATE OR REPLACE FUNCTION owners_of_memories(with_leftovers boolean DEFAULT false)
    RETURNS TABLE (agent_id text, has_memories boolean)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
DECLARE
    last text := '';
    of_memories text;
BEGIN
    LOOP
        SELECT min(m.agent_id) INTO of_memories FROM agent_memories m WHERE m.agent_id > last;
        agent_id := of_memories;
        IF with_leftovers THEN
            agent_id := least(
                of_memories,
                (SELECT min(u.agent_id) FROM memory_usage u WHERE u.agent_id > last),
                (SELECT min(l.agent_id) FROM memory_links l WHERE l.agent_id > last),
                (SELECT min(e.agent_id) FROM memory_events e WHERE e.agent_id > last),
                (SELECT min(r.agent_id) FROM maintenance_runs r WHERE r.agent_id > last));
        END IF;
        EXIT WHEN agent_id IS NULL;
        has_memories := coalesce(agent_id = of_memories, false);
        RETURN NEXT;
        last := agent_id;
    END LOOP;
END
$verb$;

COMMENT ON FUNCTION owners_of_memories IS
    'Returns the owners of memories, in order. With with_leftovers, also owners that have only '
    'history, runs in maintenance_runs, or rows that deleted memories left behind.';

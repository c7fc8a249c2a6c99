-- For maintainers.
-- Memories that are added meanwhile stay, with all that belongs to them.
CREATE OR REPLACE FUNCTION clear(agent text) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    ids uuid[];
    cleared bigint;
BEGIN
    PERFORM require_owner(agent);
    ids := ARRAY(SELECT m.id FROM agent_memories m
                  WHERE m.agent_id = agent ORDER BY m.id FOR UPDATE);
    DELETE FROM agent_memories m WHERE m.agent_id = agent AND m.id = ANY (ids);
    GET DIAGNOSTICS cleared = ROW_COUNT;
    DELETE FROM memory_usage u
     WHERE u.agent_id = agent
       AND NOT EXISTS (SELECT FROM agent_memories m
                        WHERE m.agent_id = agent AND m.id = u.memory_id);
    DELETE FROM memory_labels l
     WHERE l.agent_id = agent
       AND NOT EXISTS (SELECT FROM agent_memories m
                        WHERE m.agent_id = agent AND m.id = l.memory_id);
    DELETE FROM memory_links l
     WHERE l.agent_id = agent
       AND NOT EXISTS (SELECT FROM agent_memories m
                        WHERE m.agent_id = agent AND m.id = l.source_id);
    DELETE FROM memory_events e
     WHERE e.agent_id = agent
       AND NOT EXISTS (SELECT FROM agent_memories m
                        WHERE m.agent_id = agent AND m.id = e.memory_id);
    DELETE FROM gc_runs r WHERE r.agent_id = agent;
    PERFORM forget_positions(agent, NULL);
    RETURN cleared;
END
$verb$;

COMMENT ON FUNCTION clear IS
    'Deletes everything of an owner: memories, counters, labels, links, history and rank index; returns the number of memories.';

CREATE FUNCTION clear_memories(
    agent text
) RETURNS bigint
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    cleared bigint := 0;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    WITH locked AS
    (SELECT agent_memories.id AS id
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id ORDER BY agent_memories.id FOR UPDATE),
    gone AS
    (DELETE FROM agent_memories WHERE agent_memories.agent_id = owner_id AND agent_memories.id IN (SELECT locked.id
    FROM locked) RETURNING agent_memories.id)
     SELECT count(*) AS cleared
    FROM gone
    INTO cleared;
    DELETE FROM memory_usage WHERE memory_usage.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_usage.agent_id AND agent_memories.id = memory_usage.memory_id));
    DELETE FROM memory_labels WHERE memory_labels.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_labels.agent_id AND agent_memories.id = memory_labels.memory_id));
    DELETE FROM memory_links WHERE memory_links.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_links.agent_id AND agent_memories.id = memory_links.source_id));
    DELETE FROM memory_events WHERE memory_events.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_events.agent_id AND agent_memories.id = memory_events.memory_id));
    DELETE FROM gc_runs WHERE gc_runs.agent_id = owner_id;
    RETURN cleared;
END
$operation$;

COMMENT ON FUNCTION clear_memories IS
    'Deletes everything of an agent, memories, counters, labels, links and history; returns how many memories there were.';

CREATE FUNCTION sweep_orphans_batch(
    agent text,
    batch_size integer DEFAULT 1000
) RETURNS bigint
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    swept bigint := 0;
    rows_gone bigint := 0;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (batch_size IS NULL OR NOT batch_size BETWEEN 1 AND 100000) IS NOT FALSE THEN
        RAISE EXCEPTION 'batch_size lies within 1 and 100000, got %', batch_size
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    WITH orphans AS
    (SELECT memory_usage.agent_id AS agent_id, memory_usage.memory_id AS memory_id
    FROM memory_usage
    WHERE memory_usage.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_usage.agent_id AND agent_memories.id = memory_usage.memory_id)) ORDER BY memory_usage.agent_id, memory_usage.memory_id
     LIMIT batch_size FOR UPDATE SKIP LOCKED)
     DELETE FROM memory_usage USING orphans WHERE memory_usage.agent_id = owner_id AND memory_usage.agent_id = orphans.agent_id AND memory_usage.memory_id = orphans.memory_id;
    GET DIAGNOSTICS rows_gone = ROW_COUNT;
    swept := swept + rows_gone;
    WITH orphans AS
    (SELECT memory_labels.agent_id AS agent_id, memory_labels.memory_id AS memory_id, memory_labels.kind AS kind, memory_labels.value AS value
    FROM memory_labels
    WHERE memory_labels.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_labels.agent_id AND agent_memories.id = memory_labels.memory_id)) ORDER BY memory_labels.agent_id, memory_labels.memory_id, memory_labels.kind, memory_labels.value
     LIMIT batch_size FOR UPDATE SKIP LOCKED)
     DELETE FROM memory_labels USING orphans WHERE memory_labels.agent_id = owner_id AND memory_labels.agent_id = orphans.agent_id AND memory_labels.memory_id = orphans.memory_id AND memory_labels.kind = orphans.kind AND memory_labels.value = orphans.value;
    GET DIAGNOSTICS rows_gone = ROW_COUNT;
    swept := swept + rows_gone;
    WITH orphans AS
    (SELECT memory_links.agent_id AS agent_id, memory_links.source_id AS source_id, memory_links.target_id AS target_id, memory_links.kind AS kind
    FROM memory_links
    WHERE memory_links.agent_id = owner_id AND (NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_links.agent_id AND agent_memories.id = memory_links.source_id)) OR NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_links.agent_id AND agent_memories.id = memory_links.target_id))) ORDER BY memory_links.agent_id, memory_links.source_id, memory_links.target_id, memory_links.kind
     LIMIT batch_size FOR UPDATE SKIP LOCKED)
     DELETE FROM memory_links USING orphans WHERE memory_links.agent_id = owner_id AND memory_links.agent_id = orphans.agent_id AND memory_links.source_id = orphans.source_id AND memory_links.target_id = orphans.target_id AND memory_links.kind = orphans.kind;
    GET DIAGNOSTICS rows_gone = ROW_COUNT;
    swept := swept + rows_gone;
    RETURN swept;
END
$operation$;

COMMENT ON FUNCTION sweep_orphans_batch IS
    'One batch of the garbage collection: what is left of memories that are gone.';

CREATE OR REPLACE FUNCTION labels(agent text, memory_id uuid)
    RETURNS TABLE (value text, kind text, weight float8)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT l.value, l.kind, l.weight
      FROM memory_labels l
     WHERE l.agent_id = require_owner(agent) AND l.memory_id = labels.memory_id
     ORDER BY l.weight DESC, l.kind, l.value;
END;

COMMENT ON FUNCTION labels IS 'The labels of a memory, heaviest first.';

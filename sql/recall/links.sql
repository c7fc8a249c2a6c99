CREATE OR REPLACE FUNCTION links(agent text, memory_id uuid)
    RETURNS TABLE (source_id uuid, target_id uuid, kind text, weight float8)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT l.source_id, l.target_id, l.kind, l.weight
      FROM memory_links l
     WHERE l.agent_id = require_owner(agent) AND links.memory_id IN (l.source_id, l.target_id)
     ORDER BY l.weight DESC, l.kind, l.source_id, l.target_id;
END;

COMMENT ON FUNCTION links IS 'The links from and to a memory, strongest first.';

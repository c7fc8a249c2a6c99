CREATE OR REPLACE FUNCTION links(agent text, memory_id uuid)
    RETURNS TABLE (source_id uuid, target_id uuid, kind text, weight float8)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    PERFORM require_owner(agent);
    RETURN QUERY
    SELECT l.source_id, l.target_id, l.kind, l.weight
      FROM memory_links l
     WHERE l.agent_id = agent AND links.memory_id IN (l.source_id, l.target_id)
     ORDER BY l.weight DESC, l.kind, l.source_id, l.target_id;
END
$function$;

COMMENT ON FUNCTION links IS
    'The links from and to a memory, strongest first.';

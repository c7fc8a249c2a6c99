CREATE OR REPLACE FUNCTION labels(agent text, memory_id uuid)
    RETURNS TABLE (value text, kind text, weight float8)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    PERFORM require_owner(agent);
    RETURN QUERY
    SELECT l.value, l.kind, l.weight
      FROM memory_labels l
     WHERE l.agent_id = agent AND l.memory_id = labels.memory_id
     ORDER BY l.weight DESC, l.kind, l.value;
END
$function$;

COMMENT ON FUNCTION labels IS
    'The labels of a memory, heaviest first.';

-- For readers.
CREATE OR REPLACE FUNCTION newest_memories(agent text, newest integer)
    RETURNS TABLE (id uuid, embedding agent_memories.embedding%TYPE, created_at timestamptz)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT m.id, m.embedding, m.created_at FROM agent_memories m
     WHERE m.agent_id = agent AND m.status = 'active' AND m.embedding IS NOT NULL
       AND is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now())
     ORDER BY m.created_at DESC NULLS LAST, m.id DESC LIMIT newest;
END
$function$;

COMMENT ON FUNCTION newest_memories IS
    'Returns the newest active, valid memories of an owner that have an embedding, to compare them '
    'with each other.';

CREATE OR REPLACE FUNCTION next_edition(agent text, hash bytea) RETURNS integer
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN (SELECT coalesce(max(m.edition) + 1, 0) FROM agent_memories m
             WHERE m.agent_id = agent AND m.content_hash = hash AND m.status = 'active');
END
$function$;

COMMENT ON FUNCTION next_edition IS
    'Returns the edition of one more active memory of this text.';

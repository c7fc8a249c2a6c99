CREATE OR REPLACE FUNCTION has_memories(agent text) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN EXISTS (SELECT FROM agent_memories m WHERE m.agent_id = agent);
END
$function$;

COMMENT ON FUNCTION has_memories IS
    'Returns true if the caller may see any memory of this owner.';

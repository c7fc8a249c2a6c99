CREATE OR REPLACE FUNCTION names(agent text) RETURNS TABLE (alias text, entity text)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM require_owner(agent);
    RETURN QUERY
    SELECT n.name, n.entity FROM entity_names n
     WHERE n.agent_id = agent AND n.kind = 'alias'
     ORDER BY n.name COLLATE "C", n.entity COLLATE "C";
END
$function$;

COMMENT ON FUNCTION names IS
    'The aliases of an owner''s entities, as they are compared: in lower case, without accents.';

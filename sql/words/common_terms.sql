CREATE FUNCTION common_terms(agent text, of_team boolean, at_least bigint)
    RETURNS TABLE (memories bigint, terms jsonb)
    LANGUAGE plpgsql STABLE ROWS 1
    SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN QUERY
    SELECT (SELECT count(*) FROM memory_terms t
             WHERE t.agent_id = agent AND t.of_team = common_terms.of_team),
           (SELECT coalesce(jsonb_object_agg(counted.term, counted.n), '{}')
              FROM (SELECT each.term, count(*) AS n
                      FROM memory_terms t
                     CROSS JOIN LATERAL unnest(tsvector_to_array(t.terms)) each(term)
                     WHERE t.agent_id = agent AND t.of_team = common_terms.of_team
                     GROUP BY each.term
                    HAVING count(*) >= at_least) counted);
END
$function$;

COMMENT ON FUNCTION common_terms IS
    'How many memories an owner has, and how many of them have each term that at least so many have.';

CREATE OR REPLACE FUNCTION common_terms(agent text, at_least bigint, moment timestamptz)
    RETURNS TABLE (memories bigint, terms jsonb)
    LANGUAGE plpgsql STABLE ROWS 1 SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN QUERY
    SELECT memories_of(common_terms.agent, common_terms.moment),
           (SELECT coalesce(jsonb_object_agg(counted.term, counted.n), '{}')
              FROM (SELECT each.term, count(*) AS n
                      FROM agent_memories m
                     CROSS JOIN LATERAL unnest(tsvector_to_array(m.terms)) each(term)
                     WHERE m.agent_id = common_terms.agent
                       AND coalesce(m.created_at <= common_terms.moment, true)
                     GROUP BY each.term
                    HAVING count(*) >= at_least) counted);
END
$function$;

COMMENT ON FUNCTION common_terms IS
    'Returns the number of memories of an owner, and each term that at_least of them or more have, '
    'with their number; of the memories created by the moment.';

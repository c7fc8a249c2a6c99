-- With exact, memories are counted in the index of words (see count_with), or in the memories if a
-- policy hides that index. Otherwise the numbers are those that the rank index stored at its build:
-- all memories, and those with each common term. Rare terms are counted now.
-- Without exact, it returns no rows behind a policy. A rank index then answers no query with words
-- (see rank_candidates), and each term would take a scan of the owner's memories.
CREATE OR REPLACE FUNCTION term_weights(
    agent text, keywords text, exact boolean DEFAULT true, others text[] DEFAULT '{}',
    moment timestamptz DEFAULT NULL)
    RETURNS TABLE (term text, memories bigint, weight float8, idf float8)
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 8
    SET search_path FROM CURRENT
AS $function$
#variable_conflict use_variable
DECLARE
    known jsonb;
    total bigint;
    asked text[];
BEGIN
    IF NOT exact AND row_security_active('agent_memories') THEN
        RETURN;
    END IF;
    asked := ARRAY(SELECT q.term FROM query_terms(keywords) q);
    IF NOT exact THEN
        SELECT r.common_terms, r.term_memories INTO known, total FROM rank_indexes r
         WHERE r.agent_id = agent;
    END IF;
    IF total IS NULL THEN
        known := NULL;
        total := memories_of(agent, moment);
    END IF;
    RETURN QUERY
    SELECT counted.term, counted.n,
           CASE WHEN counted.n > 0 OR has_term(array_remove(others, agent), counted.term, moment)
                THEN term_weight(counted.n, total) ELSE 0 END,
           term_weight(counted.n, total)
      FROM (SELECT q.term, q.place, coalesce((known ->> q.term)::bigint,
                                               count_with(agent, q.term, moment)) AS n
              FROM unnest(asked) WITH ORDINALITY q(term, place)) counted
     ORDER BY counted.place;
END
$function$;

COMMENT ON FUNCTION term_weights IS
    'Returns the terms of a query with the number of an owner''s memories that have each, and its '
    'weight in the keyword signal, which is 0 if neither that owner nor one of the others has it. '
    'The column idf is the weight regardless of that. Unless exact, the numbers are those that the '
    'owner''s rank index stored, as searches through it use them, and policies hide no rows.';

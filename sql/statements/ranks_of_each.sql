-- A rank is 1 and the number of memories before it, best first, ties by id; NULL if it is not
-- ranked.
SELECT queries.number, its.*
  FROM queries
 CROSS JOIN LATERAL (
       WITH scored AS MATERIALIZED (SELECT :query_scores)
       SELECT wanted.id, counted.*
         FROM scored wanted
        CROSS JOIN LATERAL (SELECT :ranks FROM scored) counted
        WHERE wanted.id = ANY (ARRAY(SELECT judged.id FROM judged
                                      WHERE judged.number = queries.number))) its

-- The judged memories of each query and the strongest others, since sensible weights rank one of
-- these first: half of them by the present profile, half by other weights. The join is full for the
-- same reason as in every.
SELECT queries.number, its.*
  FROM queries
 CROSS JOIN LATERAL (
       WITH scored AS MATERIALIZED (SELECT :query_scores),
       best AS (
            (SELECT scored.id FROM scored
              ORDER BY scored.start DESC NULLS LAST, scored.id LIMIT :most_by_start::integer)
             UNION
            (SELECT scored.id FROM scored
              ORDER BY scored.nearness DESC NULLS LAST, scored.id LIMIT :most_by_other::integer)
             UNION
            (SELECT scored.id FROM scored
              ORDER BY scored.words DESC, scored.id LIMIT :most_by_other::integer)
             UNION
            (SELECT scored.id FROM scored
              ORDER BY scored.total DESC, scored.id LIMIT :most_by_other::integer)
             UNION
            SELECT judged.id FROM judged WHERE judged.number = queries.number)
       SELECT scored.id, :drawn
         FROM scored
         FULL JOIN best ON best.id = scored.id
        WHERE CASE WHEN best.id IS NULL OR scored.id IS NULL THEN false ELSE true END) its

-- A row for each judged memory, or one with a NULL id. best: the highest relevance of all. above:
-- the lowest among the k most relevant that are ranked before it, NULL if there are fewer.
SELECT queries.number, its.*
  FROM queries
 CROSS JOIN LATERAL (
       WITH asked AS (
            SELECT CASE WHEN queries.has_terms AND queries.query IS NOT NULL THEN 2::float8
                        ELSE 1::float8 END AS comparable
       ), scored AS MATERIALIZED (
            SELECT ranked.* FROM (SELECT :query_scores) ranked
             WHERE true
               AND (ranked.score >= :min_score::float8) --? min_score
       )
       SELECT highest.best, wanted.id, wanted.relevance, crowd.above
         FROM (SELECT max(scored.relevance) AS best FROM scored) highest
         LEFT JOIN scored wanted
           ON wanted.id = ANY (ARRAY(SELECT judged.id FROM judged
                                      WHERE judged.number = queries.number))
         LEFT JOIN LATERAL (
              SELECT scored.relevance AS above
                FROM scored
               WHERE (wanted.score, scored.id) < (scored.score, wanted.id)
               ORDER BY scored.relevance DESC
              OFFSET :k::integer - 1 LIMIT 1) crowd ON true) its

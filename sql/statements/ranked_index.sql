-- The best candidates. passed: how many pass, of the index with the fewest. total: all rows.
SELECT best.*
  FROM (SELECT every.*, (
               SELECT min(coalesce(counted.passed, 0))
                 FROM sources
                 LEFT JOIN (SELECT every.source, count(*) AS passed FROM every
                             GROUP BY every.source) counted
                   ON counted.source = sources.number) AS passed,
               count(*) OVER () AS total
          FROM every
         ORDER BY every.score DESC, every.id
         LIMIT (SELECT :ranked::integer)) best
 WHERE true
   AND (best.score >= :min_score::float8) --? turns min_score

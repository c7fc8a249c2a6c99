-- The best memories by their own score, with a plan made for this limit.
SELECT best.*
  FROM (SELECT every.* FROM every
         ORDER BY every.score DESC, every.id
         LIMIT :ranked::integer) best
 WHERE true
   AND (best.score >= :min_score::float8) --? turns min_score

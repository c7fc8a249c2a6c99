-- The best memories by their own score. The limit is hidden from the planner, so that the plan is
-- the same for each and is cached.
SELECT best.*
  FROM (SELECT every.* FROM every
         ORDER BY every.score DESC, every.id
         LIMIT (SELECT :ranked::integer)) best
 WHERE true
   AND (best.score >= :min_score::float8) --? turns min_score

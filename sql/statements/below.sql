-- The ids of those that score less than this. A CASE hides the condition, which would turn the full
-- joins into left ones.
SELECT every.id FROM every
 WHERE CASE WHEN every.score < :below_score::float8 THEN true ELSE false END

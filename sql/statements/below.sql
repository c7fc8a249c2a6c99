-- The ids of those that score less than this.
SELECT every.id FROM every WHERE every.score < :below_score::float8

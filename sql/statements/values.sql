-- Each value of a key of the metadata once.
SELECT DISTINCT passing.metadata -> :key::text AS value
  FROM passing
 WHERE passing.metadata -> :key::text IS NOT NULL

-- Those of relevant memories.
SELECT candidates.number AS candidate, pairs.number, pairs.id, pairs.gain, :candidate_score AS score
  FROM candidates
 CROSS JOIN pg_temp.pgrecall_pairs pairs
 WHERE pairs.gain > 0::float8

-- The score of each pair by each candidate. OFFSET 0 forces it to be computed once.
SELECT candidates.number AS candidate, pairs.number, pairs.id, :candidate_score AS score
  FROM candidates
 CROSS JOIN pg_temp.pgrecall_pairs pairs
OFFSET 0

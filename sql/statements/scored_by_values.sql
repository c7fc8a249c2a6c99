-- The score of every memory that passes, and its values. OFFSET 0: the planner would write out the
-- values in the score, and compute each twice.
SELECT valued.*, :score_of_values AS score
  FROM (SELECT valued.* FROM valued OFFSET 0) valued

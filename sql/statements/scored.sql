-- The scores of each memory. OFFSET 0 forces each value to be computed once.
SELECT every.agent_id, every.id, :scores
  FROM (SELECT every.* FROM every OFFSET 0) every

-- The score of each candidate that passes, and of all memories of owners without a rank index.
SELECT candidates.* FROM candidates
UNION ALL
SELECT every.agent_id, every.id, every.score
     , every.share --? words
     , every.coverage --? words
     , NULL
  FROM whole every

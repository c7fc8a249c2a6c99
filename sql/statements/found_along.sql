-- The hits and the turns that come along. attached_to: the hit that a turn comes along with.
SELECT ranked.agent_id, ranked.id, ranked.score
     , ranked.share --? words
     , ranked.coverage --? words
     , NULL::uuid AS attached_to, ranked.score AS hit_score
     , ranked.passed, ranked.total --? indexed
  FROM ranked
UNION ALL
SELECT others.agent_id, others.id, others.score
     , others.share --? words
     , others.coverage --? words
     , others.hit, others.hit_score
     , (SELECT max(ranked.passed) FROM ranked), (SELECT max(ranked.total) FROM ranked) --? indexed
  FROM others

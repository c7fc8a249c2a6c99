-- The best of all by their raised scores. lender: the hit that lent.
SELECT every_turn.agent_id, every_turn.id, raised.score
     , every_turn.share --? words
     , every_turn.coverage --? words
     , raised.score - every_turn.score AS lent, nearest.hit AS lender
     , (SELECT max(ranked.passed) FROM ranked) AS passed --? indexed
     , (SELECT max(ranked.total) FROM ranked) AS total --? indexed
  FROM (SELECT ranked.agent_id, ranked.id, ranked.score
             , ranked.share --? words
             , ranked.coverage --? words
          FROM ranked
         UNION ALL
        SELECT others.agent_id, others.id, others.score
             , others.share --? words
             , others.coverage --? words
          FROM others) every_turn
  LEFT JOIN nearest ON nearest.agent_id = every_turn.agent_id AND nearest.id = every_turn.id
 CROSS JOIN LATERAL (
       SELECT pgrecall.raised_score(
                  every_turn.score, :lend::float8, nearest.hit_score, nearest.bytes) AS score)
       raised
 ORDER BY raised.score DESC, every_turn.id
 LIMIT :k::integer

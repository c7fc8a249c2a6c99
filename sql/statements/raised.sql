-- All scores, raised by what the hits lend.
SELECT every.agent_id, every.id,
       pgrecall.raised_score(every.score, :lend::float8, nearest.hit_score, nearest.bytes) AS score
  FROM every
  LEFT JOIN nearest ON nearest.agent_id = every.agent_id AND nearest.id = every.id

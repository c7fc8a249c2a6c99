-- Each turn once, with the best hit next to it.
SELECT beside.agent_id, beside.id,
       (array_agg(beside.hit ORDER BY beside.hit_score DESC, beside.hit))[1] AS hit,
       max(beside.hit_score) AS hit_score
  FROM beside
 GROUP BY beside.agent_id, beside.id

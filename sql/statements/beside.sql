-- The turns next to each of the best: each pair of a turn and a hit.
SELECT ranked.agent_id, near.id, ranked.id AS hit, ranked.score AS hit_score, near.distance
  FROM ranked
 CROSS JOIN LATERAL pgrecall.turns_beside(
           ranked.agent_id, ranked.id, :surrounding_turns::integer) near

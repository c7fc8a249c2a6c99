-- The places of hits, and of the turns that may come along with them, nearest first.
SELECT hit.place AS hit, turn.place AS turn,
       row_number() OVER (ORDER BY hit.place, beside.distance, turn.place) AS number
  FROM beside
  JOIN pool hit ON hit.agent_id = beside.agent_id AND hit.id = beside.hit
  JOIN pool turn ON turn.agent_id = beside.agent_id AND turn.id = beside.id

-- A rank is 1 and the number of memories before it, best first, ties by id; NULL if it is not ranked.
SELECT wanted.id, counted.*
  FROM wanted
 CROSS JOIN LATERAL (SELECT :ranks FROM scored) counted

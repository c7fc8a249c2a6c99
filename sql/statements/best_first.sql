-- Best first, ties by id.
SELECT hits.*
  FROM hits
 CROSS JOIN counted --? touch
 ORDER BY hits.score DESC, hits.id

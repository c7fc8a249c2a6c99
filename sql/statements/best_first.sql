-- Best first, ties by id.
SELECT hits.*
  FROM hits
 CROSS JOIN counted --? counts
 ORDER BY hits.score DESC, hits.id

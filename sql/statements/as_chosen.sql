-- In the order in which they were chosen.
SELECT hits.*
  FROM hits
 CROSS JOIN counted --? counts
 ORDER BY hits.step

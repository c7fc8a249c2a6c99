-- Best first, ties by id, with the numbers of all.
SELECT hits.*, numbers.total, numbers.least
  FROM hits
 CROSS JOIN numbers
 ORDER BY hits.score DESC, hits.id

-- The entities of each text, the longest first.
SELECT occurring.number, array_agg(occurring.entity ORDER BY occurring.place) AS entities
  FROM occurring
 WHERE occurring.place <= :most::integer
 GROUP BY occurring.number

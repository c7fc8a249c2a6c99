-- How many times as many candidates: three times as many for a query that names anything, since
-- neither positions nor words tell which memories have its names.
SELECT greatest(1
     , CASE WHEN asked.names > 0 THEN 3 END --? naming
     , 3 --? named !naming
       ) AS times
  FROM (SELECT 1) one_row
 CROSS JOIN asked --? naming

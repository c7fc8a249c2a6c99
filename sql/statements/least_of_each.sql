-- total: how many memories pass. least: the last value of each list, if it is full.
SELECT (SELECT count(*) FROM every) AS total,
       ARRAY(SELECT CASE WHEN count(*) >= :n::integer THEN min(listed.value) END
               FROM listed
              GROUP BY listed.number
              ORDER BY listed.number) AS least

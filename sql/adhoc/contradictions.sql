-- About which subjects are there several memories that are live, and may contradict each other?
--   psql -v agent=ada -f contradictions.sql
SELECT subject, count(*) AS memories, max(created_at)::date AS newest,
       array_agg(left(content, 60) ORDER BY created_at DESC) AS contents
  FROM pgrecall.ranked(:'agent')
 WHERE subject IS NOT NULL
 GROUP BY subject
HAVING count(*) > 1
 ORDER BY memories DESC, subject
 LIMIT 20;

-- Which memories were used last, by whom, and how often before?
--   psql -f last_used.sql
SELECT last_accessed_at::timestamptz(0), agent_id, retrieval_count, success_count, failure_count,
       id, left(content, 80) AS content
  FROM pgrecall.memory_records
 WHERE last_accessed_at IS NOT NULL
 ORDER BY last_accessed_at DESC, id
 LIMIT 20;

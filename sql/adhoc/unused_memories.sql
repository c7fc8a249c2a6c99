-- Which memories has nobody retrieved for 30 days, or ever?
--   psql -v agent=ada -f unused_memories.sql
SELECT coalesce(last_accessed_at, created_at)::date AS unused_since, retrieval_count, id,
       left(content, 80) AS content
  FROM pgrecall.ranked(:'agent')
 WHERE last_accessed_at IS NULL OR last_accessed_at < now() - interval '30 days'
 ORDER BY coalesce(last_accessed_at, created_at) NULLS FIRST, id
 LIMIT 50;

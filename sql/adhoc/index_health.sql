-- Is each index valid and used, and how large is it? `pgrecall migrate up` repairs an invalid one.
--   psql -f index_health.sql
SELECT s.relname AS table_name, s.indexrelname AS index_name,
       i.indisvalid AND i.indisready AS valid,
       pg_size_pretty(pg_relation_size(s.indexrelid)) AS size, s.idx_scan AS scans,
       s.last_idx_scan::timestamptz(0) AS last_scan
  FROM pg_stat_user_indexes s
  JOIN pg_index i USING (indexrelid)
 WHERE s.schemaname = 'pgrecall'
 ORDER BY pg_relation_size(s.indexrelid) DESC, s.indexrelname;

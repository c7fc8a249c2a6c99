-- Every index and table of pgrecall: validity, size, use, dead rows, and the share of updates that
-- were HOT, which change no index. For memory_usage it should be near 100 %.
--   psql -f index_health.sql
--   psql -v schema=memories -f index_health.sql
-- schema: pgrecall. Reads only the catalogue and the statistics. An invalid index is the rest of a
-- build that was interrupted: `pgrecall migrate up` builds it again.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace
       || ', pg_temp', false) AS search_path \gset

\echo Indexes:
SELECT t.relname AS table_name,
       c.relname AS index_name,
       a.amname AS method,
       i.indisvalid AND i.indisready AS valid,
       pg_size_pretty(pg_relation_size(c.oid)) AS size,
       pg_relation_size(c.oid) AS bytes,
       coalesce(s.idx_scan, 0) AS scans,
       date_trunc('second', s.last_idx_scan) AS last_scan
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_class t ON t.oid = i.indrelid
  JOIN pg_am a ON a.oid = c.relam
  LEFT JOIN pg_stat_all_indexes s ON s.indexrelid = c.oid
 WHERE t.relnamespace = quote_ident(:'schema')::regnamespace AND c.relkind = 'i'
 ORDER BY t.relname, c.relname;

\echo Tables:
SELECT s.relname AS table_name,
       pg_size_pretty(pg_total_relation_size(s.relid)) AS total_size,
       pg_size_pretty(pg_table_size(s.relid)) AS table_size,
       pg_size_pretty(pg_indexes_size(s.relid)) AS index_size,
       s.n_live_tup AS live_rows,
       s.n_dead_tup AS dead_rows,
       round(100.0 * s.n_dead_tup / nullif(s.n_live_tup + s.n_dead_tup, 0), 1) AS dead_percent,
       s.n_tup_upd AS updates,
       round(100.0 * s.n_tup_hot_upd / nullif(s.n_tup_upd, 0), 1) AS hot_percent,
       date_trunc('second', greatest(s.last_vacuum, s.last_autovacuum)) AS last_vacuum,
       date_trunc('second', greatest(s.last_analyze, s.last_autoanalyze)) AS last_analyze
  FROM pg_stat_all_tables s
 WHERE s.schemaname = :'schema'
 ORDER BY s.relname;

-- Puts a policy on every table of memories. Every role but the owner of the schema then sees only the
-- memories of the owners that its session names, with their counters, events, labels and links:
--   psql -f row_level_security.sql
--   SET LOCAL pgrecall.owners = '{ada,team:crew}';   -- in each transaction of the application
-- A session that names none sees nothing. This protects from mistakes of the application, not from
-- somebody who can run SQL of their own and so name other owners. Run it again for new tables.
-- schema: pgrecall. To undo it: ALTER TABLE … DISABLE ROW LEVEL SECURITY.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
BEGIN;
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(:'schema')::regnamespace::text,
       true) AS search_path \gset
-- Compared directly, so that the setting is read once per scan and an index on agent_id is used.
SELECT format('DROP POLICY IF EXISTS owners ON %1$s', c.oid::regclass),
       format('CREATE POLICY owners ON %1$s USING (agent_id = ANY ('
              'nullif(current_setting(''pgrecall.owners'', true), '''')::text[]))', c.oid::regclass),
       format('ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY', c.oid::regclass)
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'agent_id' AND NOT a.attisdropped
 WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
   AND NOT c.relispartition
 ORDER BY c.relname \gexec
SELECT align_positions() AS aligned_positions_of_rank_indexes;
COMMIT;

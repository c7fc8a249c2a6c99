-- Puts a policy on every table of memories, as `pgrecall migrate protect` does. Every role but the
-- owner of the schema then sees only the memories of the owners that its session names, with their
-- counters, events and links:
--   psql -f row_level_security.sql
--   SET LOCAL pgrecall.owners = '{ada,team:crew}';   -- in each transaction of the application
-- A session that names none sees nothing. This protects from mistakes of the application, not from
-- somebody who can run SQL of their own and so name other owners. Run it again for new tables.
-- schema: pgrecall. To undo it: ALTER TABLE … DISABLE ROW LEVEL SECURITY.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgrecall \endif
SELECT :"schema".protect_owners() AS aligned_positions_of_rank_indexes;

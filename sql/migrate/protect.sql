-- For the owner.
-- A role that is subject to the policies sees the memories of the owners that its session names:
--   SET LOCAL pgrecall.owners = '{ada,team:crew}';   -- in each transaction of the application
-- A session that names none sees nothing. Owners are compared directly, so that the setting is read
-- once per scan and an index on agent_id is used.
CREATE OR REPLACE FUNCTION protect_owners() RETURNS integer
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
DECLARE
    guarded regclass;
BEGIN
    FOR guarded IN
        SELECT c.oid FROM pg_class c
          JOIN pg_attribute a
            ON a.attrelid = c.oid AND a.attname = 'agent_id' AND NOT a.attisdropped
         WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
           AND NOT c.relispartition
         ORDER BY c.relname LOOP
        EXECUTE format('DROP POLICY IF EXISTS owners ON %s', guarded);
        EXECUTE format(
            'CREATE POLICY owners ON %s USING (agent_id = ANY ('
            'nullif(current_setting(''pgrecall.owners'', true), '''')::text[]))', guarded);
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded);
    END LOOP;
    RETURN align_positions();
END
$function$;

COMMENT ON FUNCTION protect_owners IS
    'Puts row-level security on every table of memories, and returns the number of changes by '
    'align_positions. Call it again for new tables. ALTER TABLE … DISABLE ROW LEVEL SECURITY '
    'undoes it.';

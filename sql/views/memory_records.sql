-- Verbs that change one memory return its row of this view, as it is afterwards.
CREATE OR REPLACE VIEW memory_records WITH (security_invoker = true) AS
SELECT @record: {read}@
  FROM agent_memories m
  LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id;

COMMENT ON VIEW memory_records IS
    'Memories with their counters, as the repository returns them. Filter on agent_id.';

DO $$
DECLARE
    named record;
BEGIN
    FOR named IN
        SELECT v.attname AS column, col_description(t.attrelid, t.attnum) AS comment
          FROM pg_attribute v JOIN pg_attribute t USING (attname)
         WHERE v.attrelid = 'memory_records'::regclass AND v.attnum > 0
           AND t.attrelid IN ('agent_memories'::regclass, 'memory_usage'::regclass) LOOP
        EXECUTE format('COMMENT ON COLUMN memory_records.%I IS %L', named.column, named.comment);
    END LOOP;
END
$$;

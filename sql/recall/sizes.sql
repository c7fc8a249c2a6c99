-- One pass over the owner's memories. Types are texts of the caller, so only the most frequent are
-- named. Sizes are those of values as they are stored, which no table has to be read for.
CREATE OR REPLACE FUNCTION sizes(agent text, most_types integer DEFAULT 100)
    RETURNS TABLE (counted_by text, value text, memories bigint, bytes bigint)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    PERFORM require_owner(agent), require_count('most_types', most_types, 0, 1000);
    RETURN QUERY
    SELECT c.counted_by, c.value, c.memories, c.bytes
      FROM (SELECT CASE grouping(m.status, m.memory_type, m.month)
                        WHEN 3 THEN 'status' WHEN 5 THEN 'memory_type' WHEN 6 THEN 'month'
                        ELSE 'all' END AS counted_by,
                   coalesce(m.status, m.memory_type, m.month, '') AS value,
                   count(*) AS memories, coalesce(sum(m.bytes), 0)::bigint AS bytes,
                   row_number() OVER (PARTITION BY grouping(m.status, m.memory_type, m.month)
                                      ORDER BY count(*) DESC, m.memory_type) AS place
              FROM (SELECT a.status, a.memory_type,
                           coalesce(to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM'), 'unknown')
                           AS month,
                           pg_column_size(a.content) + coalesce(pg_column_size(a.embedding), 0)
                           + pg_column_size(a.metadata) AS bytes
                      FROM agent_memories a WHERE a.agent_id = agent) m
             GROUP BY GROUPING SETS ((m.status), (m.memory_type), (m.month), ())) c
     WHERE c.counted_by <> 'memory_type' OR c.place <= most_types
     ORDER BY c.counted_by, c.value;
END
$function$;

COMMENT ON FUNCTION sizes IS
    'Counts an owner''s memories, all and by status, by type (the most frequent) and by month of '
    'created_at in UTC, with the bytes of their texts, embeddings and metadata.';

-- For readers.
CREATE OR REPLACE FUNCTION analysed_tables() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{agent_memories,memory_usage,memory_events,memory_links,owner_vectors,
entity_names}'::text[];

COMMENT ON FUNCTION analysed_tables IS
    'Returns the tables whose statistics maintenance takes.';

-- Counters of the node that answers, so there are none where Citus distributes the tables.
CREATE OR REPLACE FUNCTION table_states()
    RETURNS TABLE (
        name text, live bigint, dead bigint, changed bigint, analysed_at timestamptz,
        vacuumed_at timestamptz, bytes bigint, stale text)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT t.name, t.live, t.dead, t.changed, t.analysed_at, t.vacuumed_at, t.bytes,
           CASE WHEN t.analysed_at IS NULL AND t.live > 1000 THEN 'never analysed'
                WHEN t.changed > 1000 + 0.2 * t.live
                THEN format('%s rows changed since %s', to_char(t.changed, 'FM999,999,999,999'),
                            coalesce(date_trunc('second', t.analysed_at)::text, 'it was made'))
           END
      FROM (SELECT s.relname::text AS name, s.n_live_tup AS live, s.n_dead_tup AS dead,
                   s.n_mod_since_analyze AS changed,
                   greatest(s.last_analyze, s.last_autoanalyze) AS analysed_at,
                   greatest(s.last_vacuum, s.last_autovacuum) AS vacuumed_at,
                   pg_total_relation_size(s.relid) AS bytes
              FROM pg_stat_all_tables s
             WHERE s.schemaname = current_schema() AND s.relname = ANY (analysed_tables())
               AND NOT is_distributed()
               AND NOT row_security_active('agent_memories')) t
     ORDER BY t.name;
END
$function$;

COMMENT ON FUNCTION table_states IS
    'Returns the tables of memories: their live and dead rows, those changed since the table was '
    'analysed, bytes with indexes and TOAST, and in stale why statistics have to be taken.';

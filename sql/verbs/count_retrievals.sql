CREATE OR REPLACE FUNCTION count_retrievals(agent text, memory_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
BEGIN
    INSERT INTO memory_usage AS u (agent_id, memory_id, retrieval_count, last_accessed_at)
    SELECT agent, id, count(*)::integer, moment FROM unnest(memory_ids) id
     GROUP BY id ORDER BY id
        ON CONFLICT (agent_id, memory_id) DO UPDATE
       SET retrieval_count = u.retrieval_count + excluded.retrieval_count,
           last_accessed_at = greatest(u.last_accessed_at, excluded.last_accessed_at);
END
$function$;

COMMENT ON FUNCTION count_retrievals IS
    'Counts a retrieval of each memory, now, as often as it is named; locked in the order of the key.';

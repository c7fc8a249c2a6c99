-- A text may be added again out of order, or by a client whose clock is ahead. So last_accessed_at
-- never moves back, to before the creation of the memory, or beyond now.
CREATE OR REPLACE FUNCTION count_retrievals(
    agent text, memory_ids uuid[], moments timestamptz[]) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    INSERT INTO memory_usage AS u (agent_id, memory_id, retrieval_count, last_accessed_at)
    SELECT agent, r.id, count(*)::integer,
           max(CASE WHEN r.moment IS NOT NULL
                    THEN least(greatest(r.moment, (
                             SELECT m.created_at FROM agent_memories m
                              WHERE m.agent_id = agent AND m.id = r.id)), now()) END)
      FROM unnest(memory_ids, moments) r(id, moment)
     GROUP BY r.id ORDER BY r.id
        ON CONFLICT (agent_id, memory_id) DO UPDATE
       SET retrieval_count = u.retrieval_count + excluded.retrieval_count,
           last_accessed_at = greatest(u.last_accessed_at, excluded.last_accessed_at);
    PERFORM log_usage(agent, memory_ids);
END
$function$;

COMMENT ON FUNCTION count_retrievals IS
    'Counts a retrieval of each memory as often as it is named, each at its moment (NULL: unknown, '
    'last_accessed_at stays). Locks counters in the order of the key.';

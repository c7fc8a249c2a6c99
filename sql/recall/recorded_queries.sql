-- Votes on deleted memories do not count. The moment is that of the first vote: what came later,
-- the effect of the votes too, was not known when the query was asked.
CREATE OR REPLACE FUNCTION recorded_queries(agent text)
    RETURNS TABLE (query text, memory_ids uuid[], as_of timestamptz)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    PERFORM require_owner(agent);
    RETURN QUERY
    SELECT asked.query, array_agg(asked.id ORDER BY asked.id), asked.at
      FROM (SELECT voted.query, m.id, m.created_at,
                   min(voted.first_at) OVER (PARTITION BY voted.query) AS at
              FROM (SELECT e.metadata ->> 'query' AS query, e.memory_id,
                           min(e.occurred_at) AS first_at
                      FROM memory_events e
                     WHERE e.agent_id = agent
                       AND e.event_type IN ('feedback', 'reinforcement', 'penalty')
                       AND jsonb_typeof(e.metadata -> 'query') = 'string'
                       AND btrim(e.metadata ->> 'query') <> ''
                     GROUP BY e.metadata ->> 'query', e.memory_id
                    HAVING sum(CASE e.event_type WHEN 'reinforcement' THEN 1 WHEN 'penalty' THEN -1
                                    ELSE feedback_votes(e.metadata ->> 'kind') END) > 0) voted
             -- OFFSET 0: each is looked up by its key. A join may read all memories of the owner.
             CROSS JOIN LATERAL (
                   SELECT m.id, m.created_at FROM agent_memories m
                    WHERE m.agent_id = agent AND m.id = voted.memory_id OFFSET 0) m) asked
     WHERE asked.created_at IS NULL OR asked.created_at <= asked.at
     GROUP BY asked.query, asked.at
     ORDER BY asked.query;
END
$function$;

COMMENT ON FUNCTION recorded_queries IS
    'Each query that feedback or outcomes were recorded with, the memories with more votes for '
    'than against them, and the time of the first vote on one of them. Memories created later are '
    'left out.';

-- Of memories that are gone no vote is counted.
CREATE OR REPLACE FUNCTION recorded_queries(agent text)
    RETURNS TABLE (query text, memory_ids uuid[], as_of timestamptz)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT voted.query, array_agg(voted.id ORDER BY voted.id), max(voted.at)
      FROM (SELECT e.metadata ->> 'query' AS query, m.id, max(e.occurred_at) AS at
              FROM memory_events e
              JOIN agent_memories m ON m.agent_id = e.agent_id AND m.id = e.memory_id
             WHERE e.agent_id = require_owner(agent) AND m.agent_id = require_owner(agent)
               AND e.event_type IN ('feedback', 'reinforcement', 'penalty')
               AND jsonb_typeof(e.metadata -> 'query') = 'string'
               AND btrim(e.metadata ->> 'query') <> ''
             GROUP BY e.metadata ->> 'query', m.id
            HAVING sum(CASE e.event_type WHEN 'reinforcement' THEN 1 WHEN 'penalty' THEN -1
                            ELSE feedback_votes(e.metadata ->> 'kind') END) > 0) voted
     GROUP BY voted.query
     ORDER BY voted.query;
END;

COMMENT ON FUNCTION recorded_queries IS
    'Each query that feedback or outcomes were recorded with, the memories that more votes were for than against, and when the last was recorded.';

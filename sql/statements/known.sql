-- What the signals of each memory need, and those that do not depend on a query. Joins are full for
-- the same reason as in every.
SELECT agent_memories.agent_id, agent_memories.id, :known
  FROM memories agent_memories
  FULL JOIN usages memory_usage
    ON memory_usage.memory_id = agent_memories.id --? usage
   AND (memory_usage.agent_id = agent_memories.agent_id) --? usage teams
 WHERE CASE WHEN agent_memories.id IS NULL THEN false
            ELSE true
             AND (:trusted) --? min_trust
       END

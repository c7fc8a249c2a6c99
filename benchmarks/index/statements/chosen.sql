-- The best of them.
SELECT agent_memories.agent_id, agent_memories.id, :score AS score
  FROM near agent_memories
  LEFT JOIN pgrecall.memory_usage
    ON memory_usage.agent_id = agent_memories.agent_id
   AND memory_usage.memory_id = agent_memories.id --? usage
 ORDER BY score DESC, agent_memories.id
 LIMIT :k::integer

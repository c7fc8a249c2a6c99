-- The ids of the memories that pass filters. Locked, they still do, and nobody changes them.
SELECT agent_memories.id
  FROM pgrecall.agent_memories
  LEFT JOIN pgrecall.memory_usage
    ON memory_usage.agent_id = agent_memories.agent_id
   AND memory_usage.memory_id = agent_memories.id --? usage
 WHERE agent_memories.agent_id = :owner_id::text
   AND :conditions
   AND (:trusted) --? min_trust
 ORDER BY agent_memories.id
   FOR UPDATE OF agent_memories

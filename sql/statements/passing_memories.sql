-- The memories of an owner that pass the filters.
SELECT agent_memories.id
  FROM pgrecall.agent_memories
  LEFT JOIN pgrecall.memory_usage
    ON memory_usage.agent_id = agent_memories.agent_id
   AND memory_usage.memory_id = agent_memories.id --? usage
 WHERE agent_memories.agent_id = :owner_id::text
   AND :conditions
   AND (:labelled) --? labels
   AND (:trusted) --? min_trust

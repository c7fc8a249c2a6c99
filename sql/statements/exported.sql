-- The lines of those memories with these ids that pass filters.
SELECT pgrecall.exported(:owner_id::text, agent_memories.id, :events::boolean) AS line
  FROM pgrecall.agent_memories
  LEFT JOIN pgrecall.memory_usage
    ON memory_usage.agent_id = agent_memories.agent_id
   AND memory_usage.memory_id = agent_memories.id --? usage
 WHERE agent_memories.agent_id = :owner_id::text
   AND agent_memories.id = ANY (:ids::uuid[])
   AND :conditions
   AND (:trusted) --? min_trust
 ORDER BY agent_memories.id

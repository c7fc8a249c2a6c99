-- Those that pass the filters with the greatest sums.
SELECT agent_memories.agent_id, agent_memories.id, carrying.weight
  FROM carrying
  JOIN pgrecall.agent_memories ON agent_memories.id = carrying.memory_id
 WHERE agent_memories.agent_id = :owner_id::text
   AND :conditions
 ORDER BY carrying.weight DESC, agent_memories.id
 LIMIT :limit::integer

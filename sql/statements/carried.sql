-- Those that pass the filters with the greatest sums, each looked up by its key.
SELECT agent_memories.agent_id, agent_memories.id, carrying.weight
  FROM carrying
 CROSS JOIN LATERAL (
       SELECT agent_memories.* FROM pgrecall.agent_memories
        WHERE agent_memories.agent_id = :owner_id::text AND agent_memories.id = carrying.memory_id
       OFFSET 0) agent_memories
 WHERE :conditions
 ORDER BY carrying.weight DESC, agent_memories.id
 LIMIT :limit::integer

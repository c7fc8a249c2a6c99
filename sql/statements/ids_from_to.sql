-- The owner's ids in a range, in order.
SELECT agent_memories.id
  FROM pgrecall.agent_memories
 WHERE agent_memories.agent_id = :owner_id::text
   AND agent_memories.id BETWEEN :first::uuid AND :last::uuid
 ORDER BY agent_memories.id
 LIMIT :limit::integer

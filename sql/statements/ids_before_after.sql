-- The owner's ids just before and after each one; two index lookups each.
SELECT one.id,
       (SELECT agent_memories.id FROM pgrecall.agent_memories
         WHERE agent_memories.agent_id = :owner_id::text AND agent_memories.id < one.id
         ORDER BY agent_memories.id DESC LIMIT 1) AS before,
       (SELECT agent_memories.id FROM pgrecall.agent_memories
         WHERE agent_memories.agent_id = :owner_id::text AND agent_memories.id > one.id
         ORDER BY agent_memories.id LIMIT 1) AS after
  FROM one

-- The memories that pass filters, with their usage. The join and the CASE are those of `every`.
SELECT :keys
  FROM pgrecall.agent_memories
  JOIN (SELECT 1) one_memory
    ON agent_memories.agent_id = :owner_id::text
   AND :conditions
  FULL JOIN (pgrecall.memory_usage
             JOIN (SELECT 1) one_usage ON memory_usage.agent_id = :owner_id::text)
    ON memory_usage.memory_id = agent_memories.id
 WHERE CASE WHEN agent_memories.id IS NULL THEN false
            ELSE true
             AND (:trusted) --? min_trust
             AND (:following) --? following
       END

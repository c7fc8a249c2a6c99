-- The memories that pass filters of which none reads usage.
SELECT :keys
  FROM pgrecall.agent_memories
 WHERE agent_memories.agent_id = :owner_id::text
   AND :conditions
   AND (:trusted) --? min_trust
   AND (CASE WHEN agent_memories.id IS NULL THEN false ELSE :following END) --? following

-- The memories of the owners that meet the conditions on a memory alone.
SELECT agent_memories.*
  FROM pgrecall.agent_memories
 WHERE true
   AND (agent_memories.agent_id = :owner_id::text) --? !teams
   AND (agent_memories.agent_id = ANY (:whole_owners::text[])) --? teams
   AND :conditions

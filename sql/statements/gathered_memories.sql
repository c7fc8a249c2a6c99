-- These memories of owners on several nodes, read to one place.
SELECT agent_memories.*
  FROM pgrecall.agent_memories
 WHERE agent_memories.agent_id = ANY (:all_owners::text[])
   AND agent_memories.id = ANY (ARRAY(SELECT gathered.id FROM gathered))

-- The usage of these memories.
SELECT memory_usage.*
  FROM pgrecall.memory_usage
 WHERE memory_usage.agent_id = ANY (:all_owners::text[])
   AND memory_usage.memory_id = ANY (ARRAY(SELECT gathered.id FROM gathered))

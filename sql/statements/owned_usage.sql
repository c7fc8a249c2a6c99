-- The usage of their memories.
SELECT memory_usage.*
  FROM pgrecall.memory_usage
 WHERE true
   AND (memory_usage.agent_id = :owner_id::text) --? !teams
   AND (memory_usage.agent_id = ANY (:whole_owners::text[])) --? teams

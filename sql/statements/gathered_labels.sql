-- The labels of these memories.
SELECT memory_labels.*
  FROM pgrecall.memory_labels
 WHERE memory_labels.agent_id = ANY (:all_owners::text[])
   AND memory_labels.memory_id = ANY (ARRAY(SELECT gathered.id FROM gathered))

-- Those of the owners, on any node.
SELECT agent_memories.id
  FROM pgrecall.agent_memories
 WHERE agent_memories.agent_id = ANY (:all_owners::text[])
   AND agent_memories.id = ANY (:judged_ids::uuid[])

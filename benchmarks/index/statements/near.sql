-- The nearest that pass the filters.
SELECT agent_memories.*
  FROM pgrecall.agent_memories
 WHERE agent_memories.agent_id = :owner_id::text
   AND :conditions
   AND (:labelled) --? labels
 ORDER BY agent_memories.embedding <=> :query
 LIMIT :nearest::integer

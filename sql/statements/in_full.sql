-- These memories in full, in order.
SELECT :columns
     , agent_memories.embedding AS vector --? vectors
     , one.cluster, one.similarity AS to_centre --? clusters
  FROM one
  :looked_up
 ORDER BY :order

-- The memories of the rows `one`, and their usage, each looked up by its key. OFFSET 0 forces this
-- plan: a cached one from a time when the owner had few memories could scan them all for each row.
FROM one
 CROSS JOIN LATERAL (
       SELECT agent_memories.* FROM pgrecall.agent_memories
        WHERE true
          AND (agent_memories.agent_id = :owner_id::text) --? !teams
          AND (agent_memories.agent_id = ANY (:all_owners::text[])) --? teams
          AND agent_memories.agent_id = one.agent_id AND agent_memories.id = one.id
       OFFSET 0) agent_memories
  LEFT JOIN LATERAL (
       SELECT memory_usage.* FROM pgrecall.memory_usage
        WHERE true
          AND (memory_usage.agent_id = :owner_id::text) --? !teams
          AND (memory_usage.agent_id = ANY (:all_owners::text[])) --? teams
          AND memory_usage.agent_id = one.agent_id AND memory_usage.memory_id = one.id
       OFFSET 0) memory_usage ON true

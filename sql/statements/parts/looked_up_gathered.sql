-- As looked_up, among the rows that were read to one place.
FROM one
  JOIN gathered_memories agent_memories
    ON agent_memories.agent_id = one.agent_id AND agent_memories.id = one.id
  LEFT JOIN gathered_usage memory_usage
    ON memory_usage.agent_id = one.agent_id AND memory_usage.memory_id = one.id

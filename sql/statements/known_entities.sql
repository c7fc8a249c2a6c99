-- The entities of the owners' memories, each once.
SELECT DISTINCT unnest(agent_memories.entities) AS entity
  FROM pgrecall.agent_memories
 WHERE agent_memories.agent_id = ANY (:owners::text[])

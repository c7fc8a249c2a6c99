-- A random sample, the same each time.
SELECT agent_memories.embedding AS vector
  FROM pgrecall.agent_memories
 WHERE agent_memories.agent_id = :owner_id::text
   AND agent_memories.status = 'active'
   AND agent_memories.embedding IS NOT NULL
 ORDER BY pg_catalog.uuid_hash_extended(agent_memories.id, 43::bigint)
 LIMIT :number::integer

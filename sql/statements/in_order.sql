-- Of each session by its turns, as turns_beside counts them.
SELECT memories.id, memories.agent_id, memories.session, octet_length(memories.content) AS bytes
  FROM pgrecall.agent_memories memories
 WHERE memories.agent_id = ANY (:all_owners::text[]) AND memories.session IS NOT NULL
 ORDER BY memories.agent_id, memories.session, coalesce(memories.turn, 2147483647),
          coalesce(memories.created_at, 'infinity'), memories.id

-- The query's vector, shifted away from what an owner's memories have in common: each owner's own.
-- No row is read of the memories: they say which type the query has.
SELECT owner.agent_id, pgrecall.shifted(typed.query, means.mean, :mean_share) AS query
  FROM unnest(:all_owners::text[]) owner(agent_id)
 CROSS JOIN (
       SELECT coalesce(:query, (SELECT agent_memories.embedding FROM pgrecall.agent_memories
                                 WHERE agent_memories.agent_id = :owner_id::text
                                   AND false)) AS query) typed
  LEFT JOIN means ON means.agent_id = owner.agent_id

-- The query's vector, shifted away from what an owner's memories have in common: each owner's own.
-- A mean of memories that were created later than as_of is not used. No row is read of the
-- memories: they say which type the query has.
SELECT owner.agent_id, pgrecall.shifted(typed.query, owner_vectors.mean, :mean_share) AS query
  FROM unnest(:all_owners::text[]) owner(agent_id)
 CROSS JOIN (
       SELECT coalesce(:query, (SELECT agent_memories.embedding FROM pgrecall.agent_memories
                                 WHERE agent_memories.agent_id = :owner_id::text
                                   AND false)) AS query) typed
  LEFT JOIN LATERAL (
       SELECT owner_vectors.mean FROM pgrecall.owner_vectors
        WHERE owner_vectors.agent_id = owner.agent_id
          AND (owner_vectors.agent_id = :owner_id::text) --? !teams
          AND (owner_vectors.agent_id = ANY (:all_owners::text[])) --? teams
          AND (coalesce(owner_vectors.latest <= :as_of::timestamptz, true)) --? as_of
       OFFSET 0) owner_vectors ON true

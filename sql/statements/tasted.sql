-- The mean of what did well of each owner, if it was known at that moment. No row is read of the
-- memories: they say which type it has.
SELECT owner_vectors.agent_id,
       pgrecall.as_embedding(owner_vectors.taste, (
           SELECT agent_memories.embedding FROM pgrecall.agent_memories
            WHERE agent_memories.agent_id = :owner_id::text AND false)) AS query
  FROM pgrecall.owner_vectors
 WHERE true
   AND (owner_vectors.agent_id = :owner_id::text) --? !teams
   AND (owner_vectors.agent_id = ANY (:all_owners::text[])) --? teams
   AND (owner_vectors.taste_at <= :as_of::timestamptz) --? as_of

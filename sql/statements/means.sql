-- The mean of each owner's embeddings, unless it is of memories that were created later than as_of.
SELECT owner_vectors.agent_id, owner_vectors.mean
  FROM pgrecall.owner_vectors
 WHERE true
   AND (owner_vectors.agent_id = :owner_id::text) --? !teams
   AND (owner_vectors.agent_id = ANY (:all_owners::text[])) --? teams
   AND (coalesce(owner_vectors.latest <= :as_of::timestamptz, true)) --? as_of

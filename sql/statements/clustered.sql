-- The memories of each cluster, the central one first.
SELECT :owner_id::text AS agent_id, found.memory_id AS id, found.cluster, found.place,
       found.similarity
  FROM pgrecall.clusters(:owner_id::text, :min_similarity::float8, :min_size::integer,
       :more_than::integer, :newest::integer) found(cluster, place, memory_id, similarity)

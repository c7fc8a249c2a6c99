-- A row for each rank index, or one without an index.
SELECT facts.*, :index_columns, owner_vectors.mean,
       owner_vectors.latest AS mean_latest
  FROM facts
  LEFT JOIN (pgrecall.rank_indexes
             LEFT JOIN pgrecall.owner_vectors
               ON owner_vectors.agent_id = rank_indexes.agent_id
              AND owner_vectors.agent_id = ANY (:owners::text[]))
    ON rank_indexes.agent_id = ANY (:owners::text[])

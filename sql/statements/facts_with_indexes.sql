-- A row for each rank index, or one without an index.
SELECT facts.is_large, facts.now, :index_columns
  FROM facts
  LEFT JOIN pgrecall.rank_indexes ON rank_indexes.agent_id = ANY (:owners::text[])

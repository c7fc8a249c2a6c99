-- The sum of the weights of these labels, of each memory that has any.
SELECT memory_labels.memory_id, sum(memory_labels.weight) AS weight
  FROM pgrecall.memory_labels
 WHERE memory_labels.agent_id = :owner_id::text
   AND memory_labels.value = ANY (:labels::text[])
   AND (memory_labels.kind = ANY (:label_kinds::text[])) --? label_kinds
 GROUP BY memory_labels.memory_id

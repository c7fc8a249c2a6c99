-- The condition on labels, where all memories of the owners are read.
SELECT FROM pgrecall.agent_memories WHERE
       (EXISTS (SELECT FROM pgrecall.memory_labels
                 WHERE memory_labels.agent_id = agent_memories.agent_id
                   AND memory_labels.memory_id = agent_memories.id
                   AND (memory_labels.agent_id = ANY (:whole_owners::text[])) --? teams
                   AND memory_labels.value = ANY (:labels::text[])
                   AND (memory_labels.kind = ANY (:label_kinds::text[])) --? label_kinds
       ))

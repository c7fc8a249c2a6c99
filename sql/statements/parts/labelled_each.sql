-- The condition on labels, where memories are looked up by their key: so are their labels.
SELECT FROM pgrecall.agent_memories WHERE
       (EXISTS (SELECT FROM (
                SELECT memory_labels.value, memory_labels.kind FROM pgrecall.memory_labels
                 WHERE memory_labels.agent_id = agent_memories.agent_id
                   AND memory_labels.memory_id = agent_memories.id
                   AND (memory_labels.agent_id = ANY (:all_owners::text[])) --? teams
                OFFSET 0) its
                 WHERE its.value = ANY (:labels::text[])
                   AND (its.kind = ANY (:label_kinds::text[])) --? label_kinds
       ))

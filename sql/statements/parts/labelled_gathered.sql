-- The condition on labels, among those that were read to one place.
SELECT FROM agent_memories WHERE
       (EXISTS (SELECT FROM gathered_labels
                 WHERE gathered_labels.agent_id = agent_memories.agent_id
                   AND gathered_labels.memory_id = agent_memories.id
                   AND gathered_labels.value = ANY (:labels::text[])
                   AND (gathered_labels.kind = ANY (:label_kinds::text[])) --? label_kinds
       ))

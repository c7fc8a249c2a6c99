-- Whether the owners are large and have names, and the time. The condition on inserted_at is true
-- of every row: it leads to the index in the order of writing, whose rows lie together. Citus
-- cannot read rows without columns from another node, hence the 1.
SELECT EXISTS (SELECT 1 FROM pgrecall.agent_memories
                WHERE agent_memories.agent_id = ANY (:owners::text[])
                  AND agent_memories.inserted_at >= '-infinity'
               OFFSET :large) AS is_large,
       EXISTS (SELECT 1 FROM pgrecall.entity_names
                WHERE entity_names.agent_id = ANY (:owners::text[])) AS has_names,
       EXISTS (SELECT 1 FROM pgrecall.entity_names
                WHERE entity_names.agent_id = ANY (:owners::text[])
                  AND entity_names.kind = 'subject') AS has_subjects,
       (SELECT min(owner_vectors.taste_at) FROM pgrecall.owner_vectors
         WHERE owner_vectors.agent_id = ANY (:owners::text[])) AS tasted_at,
       statement_timestamp() AS now

-- Whether the owners are large, and the time. The condition on inserted_at is true of every row: it
-- leads to the index in the order of writing, whose rows lie together. Citus cannot read rows
-- without columns from another node, hence the 1.
SELECT EXISTS (SELECT 1 FROM pgrecall.agent_memories
                WHERE agent_memories.agent_id = ANY (:owners::text[])
                  AND agent_memories.inserted_at >= '-infinity'
               OFFSET :large) AS is_large,
       statement_timestamp() AS now

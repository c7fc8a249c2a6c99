-- The terms with their weights for the owner of the memory.
SELECT found.term, found.memories, found.weight,
       array_position(stored.terms, found.term) IS NOT NULL AS matched
  FROM pgrecall.term_weights(:whose::text, :keywords::text, true, :worded_owners::text[],
       :as_of::timestamptz) found
  LEFT JOIN (SELECT tsvector_to_array(agent_memories.terms) AS terms FROM pgrecall.agent_memories
              WHERE agent_memories.agent_id = :whose::text AND agent_memories.id = :id::uuid) stored
    ON true

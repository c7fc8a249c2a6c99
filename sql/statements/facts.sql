-- What a search has to know of owners first, and the time.
SELECT known.is_large, known.has_names, known.has_subjects,
       (SELECT min(owner_vectors.taste_at) FROM pgrecall.owner_vectors
         WHERE owner_vectors.agent_id = ANY (:owners::text[])) AS tasted_at,
       statement_timestamp() AS now
  FROM pgrecall.facts_of_owners((:owners::text[])[1], (:owners::text[])[2:], :large) known

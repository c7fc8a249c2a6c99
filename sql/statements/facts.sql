-- What a search has to know of owners first, and the time.
SELECT known.is_large, known.has_names, known.has_subjects,
       statement_timestamp() AS now
  FROM pgrecall.facts_of_owners((:owners::text[])[1], (:owners::text[])[2:], :large) known

-- The words' shares of all memories, as arrays: a parallel plan hands these to its processes, each
-- of which would compute the shares again.
SELECT array_agg(found.memory_id) AS memories, array_agg(found.share) AS shares,
       array_agg(found.coverage) AS coverages
     , array_agg(found.agent_id) AS owners --? teams
  FROM pgrecall.keyword_shares(:whole_owners::text[], :keywords::text,
           :worded_owners::text[], :as_of::timestamptz) found

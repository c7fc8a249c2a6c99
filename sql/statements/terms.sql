-- The query's terms and their weights for each owner. exact: counted now, and not by what the rank
-- index stored when it was built.
SELECT owner.agent_id, found.term, found.memories, found.weight, found.idf
  FROM (SELECT 1) one
 CROSS JOIN (SELECT :owner_id::text AS agent_id) owner --? !teams
 CROSS JOIN unnest(:all_owners::text[]) owner(agent_id) --? teams
 CROSS JOIN LATERAL pgrecall.term_weights(owner.agent_id, :keywords::text, :exact::boolean,
       :worded_owners::text[], :as_of::timestamptz) found

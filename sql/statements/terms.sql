-- The query's terms and their weights for each owner. exact: counted now, and not by what the rank
-- index stored when it was built.
SELECT owner.agent_id, found.term, found.memories, found.weight, found.idf
  FROM unnest(:all_owners::text[]) owner(agent_id)
 CROSS JOIN LATERAL pgrecall.term_weights(owner.agent_id, :query_text::text, :exact::boolean,
       :worded_owners::text[], :as_of::timestamptz) found

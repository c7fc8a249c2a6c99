-- The terms of the query that the chosen have, in the order of the query. Within a CASE, the ids of
-- the chosen are hashed: a join would be planned by what the planner expects of a function.
SELECT owner.agent_id, has.memory_id,
       array_agg(asked_for.terms[has.place] ORDER BY has.place) AS terms
  FROM (SELECT ARRAY(SELECT one.term FROM pgrecall.query_terms(:query_text::text) one) AS terms
       OFFSET 0) asked_for
 CROSS JOIN unnest(:whole_owners::text[]) owner(agent_id)
 CROSS JOIN LATERAL pgrecall.memories_with(owner.agent_id, asked_for.terms,
       :as_of::timestamptz) has
 WHERE CASE WHEN has.memory_id IN (SELECT chosen.id FROM chosen) THEN true ELSE false END
 GROUP BY owner.agent_id, has.memory_id

-- The scores of all memories of owners on several nodes, which were scored owner by owner.
SELECT every.agent_id, every.id, every.score
  FROM unnest(:ranked_owners::text[], :ranked_ids::uuid[], :ranked_scores::float8[])
       every(agent_id, id, score)

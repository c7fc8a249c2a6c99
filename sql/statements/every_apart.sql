-- The scores of all memories of owners on several nodes, which were scored owner by owner.
SELECT every.agent_id, every.id, every.score
  FROM unnest(:every_owners::text[], :every_ids::uuid[], :every_scores::float8[])
       every(agent_id, id, score)

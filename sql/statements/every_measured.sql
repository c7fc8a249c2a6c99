-- The values of all memories of owners on several nodes, which were read owner by owner.
SELECT given.agent_id, given.id, given.score::float8[] AS score
  FROM unnest(:every_owners::text[], :every_ids::uuid[], :every_scores::text[])
       given(agent_id, id, score)

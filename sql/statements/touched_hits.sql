-- The memories to count.
SELECT hit.agent_id, hit.id FROM unnest(:hit_owners::text[], :hit_ids::uuid[]) hit(agent_id, id)

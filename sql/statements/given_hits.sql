-- Hits by their owners and ids.
SELECT hit.agent_id, hit.id FROM unnest(:hit_owners::text[], :hit_ids::uuid[]) hit(agent_id, id)

-- Several ids.
SELECT :owner_id::text AS agent_id, given.id FROM unnest(:ids::uuid[]) given(id)

-- One id. PostgreSQL caches no plan for an array that turns out to have one element.
SELECT :owner_id::text AS agent_id, :id::uuid AS id

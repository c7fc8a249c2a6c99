-- An argument that the caller leaves out is NULL, and `with_defaults` decides the field. To store
-- no value, pass created_at '-infinity' (unknown), expires_at 'infinity' (never), trust 'NaN'
-- (never assessed), trust_curve 'none' or trust_half_life_hours 'NaN' (none of its own).
CREATE OR REPLACE FUNCTION new_memory(
    content text, embedding agent_memories.embedding%TYPE DEFAULT NULL,
    embedding_model text DEFAULT NULL, id uuid DEFAULT NULL, key text DEFAULT NULL,
    @new but content, embedding, embedding_model, id, key: {} {type} DEFAULT NULL@)
    RETURNS agent_memories
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ROW(@table: {given}@)::agent_memories;

COMMENT ON FUNCTION new_memory IS
    'Returns a memory to store, for remember_rows and supersede. Fields without a value get their '
    'defaults.';

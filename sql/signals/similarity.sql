-- CASE, not greatest(…, missing): GREATEST ignores NULL, so an absent embedding would become 0.
CREATE OR REPLACE FUNCTION similarity(
    embedding @extschema:vector@.vector, query @extschema:vector@.vector, missing float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN embedding IS NULL OR query IS NULL THEN missing
                ELSE greatest(cosine(embedding, query), 0::float8) END;

CREATE OR REPLACE FUNCTION similarity(
    embedding @extschema:vector@.halfvec, query @extschema:vector@.halfvec, missing float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN embedding IS NULL OR query IS NULL THEN missing
                ELSE greatest(cosine(embedding, query), 0::float8) END;

COMMENT ON FUNCTION similarity(@extschema:vector@.vector, @extschema:vector@.vector, float8) IS
    'Returns the cosine similarity in [0, 1]; a negative cosine counts as 0. Returns missing '
    'without an embedding or a query.';
COMMENT ON FUNCTION similarity(@extschema:vector@.halfvec, @extschema:vector@.halfvec, float8) IS
    'Returns the cosine similarity in [0, 1]; a negative cosine counts as 0. Returns missing '
    'without an embedding or a query.';

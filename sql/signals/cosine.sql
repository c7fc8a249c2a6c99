CREATE OR REPLACE FUNCTION cosine(
    embedding @extschema:vector@.vector, query @extschema:vector@.vector) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 1::float8 - (embedding OPERATOR(@extschema:vector@.<=>) query);

CREATE OR REPLACE FUNCTION cosine(
    embedding @extschema:vector@.halfvec, query @extschema:vector@.halfvec) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 1::float8 - (embedding OPERATOR(@extschema:vector@.<=>) query);

COMMENT ON FUNCTION cosine(@extschema:vector@.vector, @extschema:vector@.vector) IS
    'Returns the cosine of the angle between two vectors, in [-1, 1]. The function similarity '
    'returns the same, but at least 0.';
COMMENT ON FUNCTION cosine(@extschema:vector@.halfvec, @extschema:vector@.halfvec) IS
    'Returns the cosine of the angle between two vectors, in [-1, 1]. The function similarity '
    'returns the same, but at least 0.';

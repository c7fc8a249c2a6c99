CREATE OR REPLACE FUNCTION as_embedding(
    numbers real[], alike @extschema:vector@.vector) RETURNS @extschema:vector@.vector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN numbers::@extschema:vector@.vector;

CREATE OR REPLACE FUNCTION as_embedding(
    numbers real[], alike @extschema:vector@.halfvec) RETURNS @extschema:vector@.halfvec
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN numbers::@extschema:vector@.vector::@extschema:vector@.halfvec;

COMMENT ON FUNCTION as_embedding(real[], @extschema:vector@.vector) IS
    'Returns numbers as a vector of the type that embeddings have.';
COMMENT ON FUNCTION as_embedding(real[], @extschema:vector@.halfvec) IS
    'Returns numbers as a vector of the type that embeddings have.';

-- What every memory of an owner has in common tells none from another. The cosine with q - a·μ is
-- linear in both, so it costs what any cosine costs. The result is never zero: q has length 1, and
-- a·μ less than 1.
CREATE OR REPLACE FUNCTION shifted(
    query @extschema:vector@.vector, mean real[], share float8) RETURNS @extschema:vector@.vector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN cardinality(mean) = @extschema:vector@.vector_dims(query)
                THEN @extschema:vector@.l2_normalize(query)
                     OPERATOR(@extschema:vector@.-)
                     (array_fill(share::real, ARRAY[cardinality(mean)])::@extschema:vector@.vector
                      OPERATOR(@extschema:vector@.*) mean::@extschema:vector@.vector)
                ELSE query END;

CREATE OR REPLACE FUNCTION shifted(
    query @extschema:vector@.halfvec, mean real[], share float8) RETURNS @extschema:vector@.halfvec
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN shifted(query::@extschema:vector@.vector, mean, share)::@extschema:vector@.halfvec;

COMMENT ON FUNCTION shifted(@extschema:vector@.vector, real[], float8) IS
    'Returns the vector of a query, of length 1, minus a share of the mean of an owner''s '
    'embeddings; the same vector if there is no mean.';
COMMENT ON FUNCTION shifted(@extschema:vector@.halfvec, real[], float8) IS
    'Returns the vector of a query, of length 1, minus a share of the mean of an owner''s '
    'embeddings; the same vector if there is no mean.';

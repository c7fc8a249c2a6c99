CREATE OR REPLACE FUNCTION trust_provenance(reputation float8, confidence float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 0.6::float8 * reputation + 0.4::float8 * confidence;

COMMENT ON FUNCTION trust_provenance(float8, float8) IS
    'Returns the part of trust from the origin of a memory: 0.6 reputation of its component + 0.4 '
    'confidence.';

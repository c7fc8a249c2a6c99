CREATE OR REPLACE FUNCTION initial_trust(
    provenance float8, consensus float8, governance float8, usage float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN least(0.3::float8 * provenance + 0.25::float8 * consensus
               + 0.3::float8 * governance + 0.15::float8 * usage, 1::float8);

COMMENT ON FUNCTION initial_trust(float8, float8, float8, float8) IS
    'Returns the trust of a new memory: 0.30 provenance + 0.25 consensus + 0.30 governance + 0.15 '
    'usage.';

CREATE OR REPLACE FUNCTION recency_linear(
    clock timestamptz, as_of timestamptz, half_life float8, unknown float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN clock IS NULL THEN unknown
                WHEN clock >= as_of THEN 1::float8
                ELSE greatest(
                    0::float8,
                    1::float8 - date_part('epoch', as_of - clock) / 86400::float8
                                / (2::float8 * half_life)) END;

COMMENT ON FUNCTION recency_linear(timestamptz, timestamptz, float8, float8) IS
    'Returns 1 - days since clock / (2 * half_life), at least 0; 1 for a clock after as_of; '
    'unknown without a clock.';

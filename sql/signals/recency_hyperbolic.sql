CREATE OR REPLACE FUNCTION recency_hyperbolic(
    clock timestamptz, as_of timestamptz, half_life float8, unknown float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN clock IS NULL THEN unknown
                WHEN clock >= as_of THEN 1::float8
                ELSE 1::float8 / (1::float8
                    + date_part('epoch', as_of - clock) / 86400::float8 / half_life) END;

COMMENT ON FUNCTION recency_hyperbolic(timestamptz, timestamptz, float8, float8) IS
    'Returns 1 / (1 + days since clock / half_life); 1 for a clock after as_of; unknown without a '
    'clock.';

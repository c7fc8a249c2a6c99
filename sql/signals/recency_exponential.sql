-- timestamptz subtraction is IMMUTABLE and date_part of an interval is too; date_part of a
-- timestamptz is STABLE and would keep this function from being inlined.
-- exp() raises an error below about -745, which would end the whole query.
CREATE OR REPLACE FUNCTION recency_exponential(
    clock timestamptz, as_of timestamptz, rate float8, unknown float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN clock IS NULL THEN unknown
                WHEN clock >= as_of THEN 1::float8
                ELSE exp(greatest(
                    -rate * (date_part('epoch', as_of - clock) / 86400::float8), -700::float8)) END;

COMMENT ON FUNCTION recency_exponential(timestamptz, timestamptz, float8, float8) IS
    'Returns exp(-rate * days since clock); 1 for a clock after as_of; unknown without a clock.';

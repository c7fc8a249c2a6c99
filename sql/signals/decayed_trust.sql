-- Each row has its own curve, so the curve is chosen per row. 0.693… is ln 2. The exponent is
-- clamped higher than for recency, because the result is multiplied by a stored number.
CREATE OR REPLACE FUNCTION decayed_trust(
    trust float8, clock timestamptz, as_of timestamptz,
    curve text, half_life_hours float8, missing float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN trust IS NULL THEN missing
                WHEN clock IS NULL OR clock >= as_of THEN trust
                ELSE trust * CASE curve
                    WHEN 'exponential' THEN exp(greatest(-0.6931471805599453::float8
                        * (date_part('epoch', as_of - clock) / 3600::float8)
                        / coalesce(half_life_hours, 168::float8), -400::float8))
                    WHEN 'linear' THEN greatest(0::float8, 1::float8
                        - date_part('epoch', as_of - clock) / 3600::float8
                        / (2::float8 * coalesce(half_life_hours, 168::float8)))
                    ELSE 1::float8 / (1::float8
                        + date_part('epoch', as_of - clock) / 3600::float8
                        / coalesce(half_life_hours, 168::float8)) END END;

COMMENT ON FUNCTION decayed_trust(float8, timestamptz, timestamptz, text, float8, float8) IS
    'Returns trust, decayed since clock by the curve of the row (if unknown: hyperbolic, half-life '
    '168 hours). Without a clock it does not decay. Returns missing if trust was never assessed.';

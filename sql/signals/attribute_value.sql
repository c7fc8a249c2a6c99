-- `zero` and `one` are the numbers whose values are 0 and 1. The function uses its argument often,
-- which is cheap enough to be inlined: a path into metadata. Numbers nearer to 0 than 1e-100 count
-- as 0, or products with weights could underflow.
CREATE OR REPLACE FUNCTION ramp(number float8, zero float8, one float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN abs(greatest(least(number, greatest(zero, one)), least(zero, one)) - zero)
           / abs(one - zero);

COMMENT ON FUNCTION ramp IS
    'Returns where a number lies on the way from zero to one, in [0, 1].';

CREATE OR REPLACE FUNCTION attribute_value(
    found jsonb, zero float8, one float8, missing float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN jsonb_typeof(found) = 'number'
                THEN ramp(CASE WHEN abs(found::numeric) >= 1e-100::numeric
                               THEN greatest(least(found::numeric, 1e30::numeric),
                                             -1e30::numeric)::float8
                               ELSE 0::float8 END, zero, one)
                ELSE missing END;

COMMENT ON FUNCTION attribute_value IS
    'Returns the value in [0, 1] of a number in metadata, where zero and one are the ends of its '
    'range; missing for what is no number.';

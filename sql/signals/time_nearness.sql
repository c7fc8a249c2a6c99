CREATE OR REPLACE FUNCTION time_nearness(
    moment timestamptz, period_from timestamptz, period_to timestamptz, unknown float8,
    written boolean DEFAULT false)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN period_from IS NULL THEN 0::float8
                WHEN moment IS NULL THEN unknown
                ELSE greatest(0::float8, 1::float8
                    - greatest(date_part('epoch', period_from - moment),
                               date_part('epoch', moment - period_to)
                               - CASE WHEN written THEN 86400::float8 ELSE 0::float8 END,
                               0::float8)
                    / greatest(date_part('epoch', period_to - period_from), 86400::float8)) END;

COMMENT ON FUNCTION time_nearness IS
    'Returns 1 for a moment within a period, and 1 - distance / length outside it, at least 0. The '
    'length is that of the period, but at least a day: half a length away, the value is 0.5. '
    'Returns 0 without a period, and unknown without a moment. written: true if the moment is when '
    'something was written down, which counts as within the period for one day after it.';

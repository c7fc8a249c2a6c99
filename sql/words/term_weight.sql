CREATE OR REPLACE FUNCTION term_weight(memories bigint, total bigint) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ln(1 + (greatest(total, memories) - memories + 0.5::float8)
                  / (memories + 0.5::float8));

COMMENT ON FUNCTION term_weight IS
    'Returns the inverse document frequency of a term that `memories` of `total` memories have: '
    'ln(1 + (N - n + 0.5) / (n + 0.5)).';

CREATE OR REPLACE FUNCTION trust_usage(
    success_count integer, failure_count integer, access_count integer) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN success_count = 0 THEN 0::float8
                ELSE 0.7::float8 * success_count::float8
                     / (success_count::float8 + failure_count::float8) END
         + 0.3::float8 * least(access_count::float8 / 20::float8, 1::float8);

COMMENT ON FUNCTION trust_usage(integer, integer, integer) IS
    'Returns the part of trust from use: 0.7 success rate + 0.3 least(access_count / 20, 1).';

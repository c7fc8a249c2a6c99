-- The counters already include this outcome. Trust that was never assessed stays NULL; this is
-- tested first, since greatest and least ignore NULL.
CREATE OR REPLACE FUNCTION trust_after_outcome(
    trust float8, success boolean,
    success_count integer, failure_count integer, access_count integer) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN trust IS NOT NULL THEN least(greatest(trust
         + CASE WHEN success THEN 0.05::float8 / (1::float8 + 0.1::float8 * success_count::float8)
                ELSE -0.08::float8 / (1::float8 + 0.05::float8 * failure_count::float8) END
         + CASE WHEN access_count > 5 AND success_count > 0 AND success_count::float8
                     / (success_count::float8 + failure_count::float8) > 0.8::float8
                THEN 0.02::float8 ELSE 0::float8 END, 0::float8), 1::float8) END;

COMMENT ON FUNCTION trust_after_outcome(float8, boolean, integer, integer, integer) IS
    'Returns trust after an outcome that the counters already include: success +0.05/(1 + 0.1 '
    'successes), failure -0.08/(1 + 0.05 failures), and +0.02 with over 5 accesses and a success '
    'rate over 0.8.';

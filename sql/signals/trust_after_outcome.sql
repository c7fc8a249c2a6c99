-- The counters are those after counting this outcome. Trust that was never assessed stays so: NULL
-- is caught first, since greatest and least pass over it.
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
    'Trust after a use, counters counted first: success +0.05/(1 + 0.1 successes), failure -0.08/(1 + 0.05 failures), +0.02 once over 5 accesses with a success rate over 0.8.';

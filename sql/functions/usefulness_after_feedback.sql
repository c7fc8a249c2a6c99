-- A posterior mean with prior strength 2, updated step by step: the same as
-- (2 · prior + Σ up) / (2 + Σ up + Σ down) where the prior is the usefulness set on write, 0.5 by
-- default. What is too small to compute with is 0, as everywhere.
CREATE FUNCTION usefulness_after_feedback(
    usefulness float8, earlier integer, up integer, down integer) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN usefulness < 1e-80::float8 AND up = 0 THEN 0::float8
                ELSE (usefulness * (2::float8 + earlier::float8) + up::float8)
                     / (2::float8 + earlier::float8 + up::float8 + down::float8) END;

COMMENT ON FUNCTION usefulness_after_feedback(float8, integer, integer, integer) IS
    'Posterior mean of helpfulness after up and down votes, given the mean after earlier ones; prior strength 2.';

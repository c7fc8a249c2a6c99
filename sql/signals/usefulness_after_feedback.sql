-- This is a posterior mean with prior strength 2, (2 · prior + Σ up) / (2 + Σ up + Σ down).
-- With a prior of 0.5 it is computed from the sums, so that balanced votes give exactly 0.5. With
-- another prior it continues from the mean so far, which is the same up to rounding. Values too
-- small to compute with become 0, as everywhere.
CREATE OR REPLACE FUNCTION usefulness_after_feedback(
    usefulness float8, earlier_up integer, earlier_down integer, up integer, down integer)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN abs(usefulness - (1::float8 + earlier_up::float8)
                 / (2::float8 + earlier_up::float8 + earlier_down::float8)) < 1e-9::float8
        THEN (1::float8 + earlier_up::float8 + up::float8)
             / (2::float8 + earlier_up::float8 + earlier_down::float8 + up::float8 + down::float8)
        WHEN usefulness < 1e-80::float8 AND up = 0 THEN 0::float8
        ELSE (usefulness * (2::float8 + earlier_up::float8 + earlier_down::float8) + up::float8)
             / (2::float8 + earlier_up::float8 + earlier_down::float8 + up::float8 + down::float8)
        END;

COMMENT ON FUNCTION usefulness_after_feedback(float8, integer, integer, integer, integer) IS
    'Returns the posterior mean of helpfulness after up and down votes, from the mean before them; '
    'prior strength 2.';

-- A memory without a judgement (compliant NULL) counts as compliant: nothing was found against it.
CREATE OR REPLACE FUNCTION trust_governance(
    compliant boolean, requires_approval boolean, has_errors boolean,
    violates_policy boolean, under_policy_review boolean) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN compliant IS FALSE THEN 0.3::float8 ELSE 1::float8 END
         * CASE WHEN requires_approval THEN 0.8::float8 ELSE 1::float8 END
         * CASE WHEN has_errors THEN 0.7::float8 ELSE 1::float8 END
         * CASE WHEN violates_policy THEN 0.5::float8 ELSE 1::float8 END
         * CASE WHEN under_policy_review THEN 0.8::float8 ELSE 1::float8 END;

COMMENT ON FUNCTION trust_governance(boolean, boolean, boolean, boolean, boolean) IS
    'Returns the part of trust from compliance: 1, or 0.3 if not compliant; × 0.8 if it requires '
    'approval, × 0.7 with errors, × 0.5 for a violation, × 0.8 under review.';

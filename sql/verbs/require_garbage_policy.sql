CREATE OR REPLACE FUNCTION require_garbage_policy(
    min_trust_threshold float8, max_age_hours float8, delete_threshold float8, max_live bigint,
    max_event_age_hours float8, max_run_age_hours float8, policy text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $check$
BEGIN
    IF min_trust_threshold IS NOT NULL THEN
        PERFORM require_share('min_trust_threshold', min_trust_threshold);
    END IF;
    IF delete_threshold IS NOT NULL THEN
        PERFORM require_share('delete_threshold', delete_threshold);
    END IF;
    IF NOT max_age_hours BETWEEN 0 AND @LONGEST_HOURS@ THEN
        RAISE EXCEPTION 'max_age_hours must lie within 0 and @LONGEST_HOURS,@ hours, got %',
            max_age_hours
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF NOT (coalesce(max_event_age_hours, @LEAST_AGE@) BETWEEN @LEAST_AGE@ AND @LONGEST_HOURS@
               AND coalesce(max_run_age_hours, @LEAST_AGE@)
                   BETWEEN @LEAST_AGE@ AND @LONGEST_HOURS@) THEN
        RAISE EXCEPTION 'max_event_age_hours and max_run_age_hours must lie within @LEAST_AGE@ and '
            '@LONGEST_HOURS,@ hours, got % and %', coalesce(max_event_age_hours::text, 'NULL'),
            coalesce(max_run_age_hours::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF max_live < 0 THEN
        RAISE EXCEPTION 'max_live must not be negative, got %', max_live
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF policy IS NULL OR policy = '' OR length(policy) > @MAX_NAME_LENGTH@ THEN
        RAISE EXCEPTION 'policy is a name of 1 to @MAX_NAME_LENGTH@ characters, got %',
            left(policy, 80)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$check$;

COMMENT ON FUNCTION require_garbage_policy IS
    'Raises invalid_parameter_value for an invalid policy of the garbage collection; NULL turns a '
    'rule off.';

CREATE OR REPLACE FUNCTION usage_synced_until(as_of timestamptz, built_at timestamptz)
    RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN least(as_of, built_at - interval '1 minute');

COMMENT ON FUNCTION usage_synced_until IS
    'Returns the moment from which positions of a rank index may lack uses. It is earlier than the '
    'build, since a use has the time at which its transaction began.';

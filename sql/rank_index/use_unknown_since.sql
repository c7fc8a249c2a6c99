CREATE OR REPLACE FUNCTION use_unknown_since(as_of timestamptz, built_at timestamptz)
    RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN least(as_of, built_at - interval '1 minute');

COMMENT ON FUNCTION use_unknown_since IS
    'Returns the moment from which positions of a rank index may lack uses. It is earlier than the '
    'build, since a use has the time at which its transaction began.';

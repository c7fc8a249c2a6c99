-- Every interval is half-open, [from, until); NULL leaves it open.
CREATE FUNCTION is_valid(
    valid_from timestamptz, valid_until timestamptz,
    invalidated_at timestamptz, expires_at timestamptz, as_of timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(valid_from <= as_of, true)
       AND coalesce(valid_until > as_of, true)
       AND coalesce(invalidated_at > as_of, true)
       AND coalesce(expires_at > as_of, true);

COMMENT ON FUNCTION is_valid(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz) IS
    'Whether a memory holds at as_of: inside [valid_from, valid_until), not invalidated, not expired.';

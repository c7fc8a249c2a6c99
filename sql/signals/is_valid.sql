-- Every interval is half-open, [from, until); NULL leaves it open. The conditions use OR, not
-- coalesce: the planner knows how many values are NULL, but can only guess how many rows a coalesce
-- passes.
CREATE OR REPLACE FUNCTION is_valid(
    valid_from timestamptz, valid_until timestamptz,
    invalidated_at timestamptz, expires_at timestamptz, as_of timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (valid_from IS NULL OR valid_from <= as_of)
       AND (valid_until IS NULL OR valid_until > as_of)
       AND (invalidated_at IS NULL OR invalidated_at > as_of)
       AND (expires_at IS NULL OR expires_at > as_of);

COMMENT ON FUNCTION is_valid(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz) IS
    'Returns true if a memory is valid at as_of: within [valid_from, valid_until), not invalidated '
    'and not expired.';

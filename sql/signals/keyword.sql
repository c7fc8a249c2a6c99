CREATE OR REPLACE FUNCTION keyword(share float8, bytes integer, b float8, pivot float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN share / (1 - b + b * greatest(bytes / pivot, 1));

COMMENT ON FUNCTION keyword IS
    'Returns the share of a query''s terms that a memory has, reduced for long memories: share / '
    '(1 - b + b * greatest(bytes / pivot, 1)).';

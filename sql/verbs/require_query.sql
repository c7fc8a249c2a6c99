CREATE OR REPLACE FUNCTION require_query(query text) RETURNS void
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN require(query ~ '\S' OR query IS NULL, 'the query is empty');

COMMENT ON FUNCTION require_query IS
    'Raises invalid_parameter_value for an empty query; NULL passes.';

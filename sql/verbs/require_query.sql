CREATE OR REPLACE FUNCTION require_query(query text) RETURNS void
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN require(is_blank(query) IS NOT TRUE, 'the query is empty');

COMMENT ON FUNCTION require_query IS
    'Raises invalid_parameter_value for an empty query; NULL passes.';

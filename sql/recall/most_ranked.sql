CREATE OR REPLACE FUNCTION most_ranked(k integer, lend float8) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN greatest(k, CASE WHEN lend IS NOT NULL THEN @LEAST_LENDERS@ END);

COMMENT ON FUNCTION most_ranked IS
    'How many memories are ranked by their own score: k, or more if they lend.';

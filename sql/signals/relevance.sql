CREATE OR REPLACE FUNCTION relevance(similarity float8, keyword float8, comparable float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (coalesce(similarity, 0) + coalesce(keyword, 0)) / comparable;

COMMENT ON FUNCTION relevance IS
    'Returns the relevance of a memory to a query, on one scale for every profile: the mean of '
    'similarity and keyword, where keyword also counts terms that no memory has. The argument '
    'comparable, 1 or 2, is the number of the two that the query allows.';

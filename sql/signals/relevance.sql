CREATE OR REPLACE FUNCTION relevance(similarity float8, keyword float8, comparable float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (coalesce(similarity, 0) + coalesce(keyword, 0)) / comparable;

COMMENT ON FUNCTION relevance IS
    'How relevant a memory is to a query, on one scale for every profile: the mean of similarity and keyword, where keyword also counts terms that no memory has. comparable: how many of the two the query can be compared by, 1 or 2.';

CREATE OR REPLACE FUNCTION relevance(similarity float8, keyword float8, comparable float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (coalesce(similarity, 0) + coalesce(keyword, 0)) / comparable;

COMMENT ON FUNCTION relevance IS
    'How much a memory has to do with a query, whatever the profile: the mean of similarity and of the keyword signal with the terms that nobody has among all terms. comparable: by how many of the two the query can be compared, 1 or 2.';

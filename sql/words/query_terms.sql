CREATE OR REPLACE FUNCTION query_terms(keywords text) RETURNS TABLE (term text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 8
BEGIN ATOMIC
    SELECT word.lexeme FROM unnest(lexemes(keywords)) word
     ORDER BY word.positions[1], word.lexeme
     LIMIT 1000;
END;

COMMENT ON FUNCTION query_terms IS
    'Returns the distinct terms of a query in the order of their first occurrence, at most 1000; '
    'none if all are stop words.';

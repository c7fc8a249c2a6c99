-- A tsvector holds at most 1 MiB. 100,000 characters fit, even where one becomes several.
CREATE FUNCTION lexemes(content text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_tsvector(text_language(),
        left(regexp_replace(folded(left(content, 100000), ' '), '-(?=\d)', ' ', 'g'), 100000));

COMMENT ON FUNCTION lexemes IS
    'The words of the first 100,000 characters of a text, as they are compared: in the text language of this schema, without stop words, accents and punctuation.';

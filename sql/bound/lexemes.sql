-- A tsvector holds at most 1 MiB; so many characters fit, also where some become several.
CREATE FUNCTION lexemes(content text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_tsvector(text_language(),
        left(regexp_replace(folded(left(content, 100000), ' '), '-(?=\d)', ' ', 'g'), 100000));

COMMENT ON FUNCTION lexemes IS
    'The words of the first 100,000 characters of a text, as they are compared: by the language of this schema, without stop words, accents and signs.';

-- A comma joins the parts of one word, so that -word excludes the whole word. A dash with no word
-- after it excludes nothing.
CREATE OR REPLACE FUNCTION word_filter(asked text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN websearch_to_tsquery(text_language(), regexp_replace(
        translate(folded(left(asked, @MAX_FILTER_TEXT@), ','), '“”„‟«»', '""""""'),
        '-+(?=[-\s]|$)', '', 'g'));

COMMENT ON FUNCTION word_filter IS
    'Returns the tsquery of a text filter as people type it: "a phrase", or, -without. Reads the '
    'first @MAX_FILTER_TEXT,@ characters.';

-- Parts of one word stay one word by the comma, so that what is excluded is excluded whole. Dashes
-- that stand before no word exclude nothing.
CREATE OR REPLACE FUNCTION word_filter(asked text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN websearch_to_tsquery(text_language(), regexp_replace(
        translate(folded(left(asked, 10000), ','), '“”„‟«»', '""""""'),
        '-+(?=[-\s]|$)', '', 'g'));

COMMENT ON FUNCTION word_filter IS
    'What a text filter asks for, as people type it: "a phrase", or, -without. At most 10,000 characters.';

-- Removes accents and invisible characters, and writes numbers and names in one way: 1,000 becomes
-- 1000, ﬁ becomes fi. PostgreSQL's parser takes and/or for a path, 2026-03-15 for 2026, -3 and -15,
-- and a sentence of Chinese or Japanese for one word. So these are split, with `joint` between the
-- parts; each Chinese or Japanese character becomes a word of its own. Words are cut at 200
-- characters, since the parser's time grows with the square of their length.
CREATE FUNCTION folded(content text, joint text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(regexp_replace(regexp_replace(normalize(
        regexp_replace(normalize(regexp_replace(content, '(\S{200})', '\1 ', 'g'), NFKD),
            '[\u0300-\u036f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+', '', 'g'), NFKC),
        '(\d),(?=\d{3}(?!\d))', '\1', 'g'),
        ':?/+|(?<=\S)[-+](?=\d)|\+(?=\d)', joint, 'g'),
        '([\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])',
        '\1' || joint, 'g');

COMMENT ON FUNCTION folded IS
    'The text without accents and with numbers written in one way, ready to be split into words.';

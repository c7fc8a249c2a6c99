-- Words are found as those of memories are (see folded), where there is more than ASCII.
CREATE OR REPLACE FUNCTION name_words(said text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN string_to_array(btrim(regexp_replace(
        CASE WHEN octet_length(said) = length(said) THEN said ELSE folded(said, ' ') END,
        '[^[:alnum:]_]+', ' ', 'g')), ' ');

COMMENT ON FUNCTION name_words IS
    'Returns the words of a text or a name, without accents and punctuation.';

CREATE OR REPLACE FUNCTION name_key(name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(array_to_string(name_words(name), ' '));

COMMENT ON FUNCTION name_key IS
    'Returns a name as names are compared: in lower case, without accents and punctuation, with '
    'single spaces.';

CREATE OR REPLACE FUNCTION is_one_edit(one text, other text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN abs(length(one) - length(other)) <= 1 AND EXISTS (
        SELECT FROM generate_series(1, greatest(length(one), length(other))) i
         WHERE left(one, i - 1) || substr(one, i + 1) = other
            OR left(other, i - 1) || substr(other, i + 1) = one
            OR left(one, i - 1) || substr(one, i + 1) = left(other, i - 1) || substr(other, i + 1)
            OR left(one, i - 1) || substr(one, i + 1, 1) || substr(one, i, 1) || substr(one, i + 2)
               = other);

COMMENT ON FUNCTION is_one_edit IS
    'Returns true if two words differ by at most one letter: another one, one more, one less, or '
    'two that changed places.';

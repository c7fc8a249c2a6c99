-- The owner is part of the key, so that one inverted index separates the words of all owners, and
-- one entry says how many of an owner's memories have a word.
CREATE FUNCTION term_key(agent text, term text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended(term, hashtextextended(agent, 0::bigint));

COMMENT ON FUNCTION term_key IS 'The key of an owner''s term in the index of words.';

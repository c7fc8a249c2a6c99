-- With the owner in the key, one inverted index keeps apart the words of all owners: how many of an
-- owner's memories have a word is told by that word's entry alone.
CREATE FUNCTION term_key(agent text, term text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended(term, hashtextextended(agent, 0::bigint));

COMMENT ON FUNCTION term_key IS 'A term of one owner, as it stands in the index of words.';

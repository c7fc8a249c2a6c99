-- What is lent is divided as the share of words is: long turns, which mention many things in
-- passing, would lend each other what they do not say.
CREATE OR REPLACE FUNCTION raised_score(
    score float8, share float8, hit_score float8, bytes integer DEFAULT NULL) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN greatest(score, least(score + keyword(
        share * coalesce(hit_score, 0), coalesce(bytes, 0), 0.8::float8, 400::float8), 1));

COMMENT ON FUNCTION raised_score IS
    'The score of a turn, raised by a share of the score of the hit beside it, divided by '
    '0.2 + 0.8 · bytes / 400 where the turn has more than 400 bytes; NULL: there is no hit.';

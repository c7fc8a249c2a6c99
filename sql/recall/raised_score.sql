CREATE OR REPLACE FUNCTION raised_score(score float8, share float8, hit_score float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN greatest(score, least(score + share * coalesce(hit_score, 0), 1));

COMMENT ON FUNCTION raised_score IS
    'The score of a turn, raised by a share of the score of the hit beside it; NULL: there is no '
    'hit.';

CREATE OR REPLACE FUNCTION most_ranked(k integer, diversity float8) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN greatest(k, CASE WHEN diversity > 0
                            THEN greatest(@COMPARED_PER_HIT@ * least(k, @MAX_CONSIDERED@),
                                          @LEAST_COMPARED@) END);

COMMENT ON FUNCTION most_ranked IS
    'How many memories are ranked: k, or more if the k are chosen among them.';

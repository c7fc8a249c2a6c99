CREATE OR REPLACE FUNCTION most_ranked(k integer, lend float8, diversity float8 DEFAULT 0)
    RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN greatest(k, CASE WHEN lend IS NOT NULL THEN @LEAST_LENDERS@ END,
                    CASE WHEN diversity > 0
                         THEN greatest(@COMPARED_PER_HIT@ * least(k, @MAX_CONSIDERED@),
                                       @LEAST_COMPARED@) END);

COMMENT ON FUNCTION most_ranked IS
    'How many memories are ranked by their own score: k, or more if they lend or the k are '
    'chosen among them.';

-- The score of the memory itself.
SELECT :own_score::float8 AS score, NULL::uuid AS hit

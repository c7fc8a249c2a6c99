-- The score of the memory itself.
SELECT :score_of_it::float8 AS score, NULL::uuid AS hit

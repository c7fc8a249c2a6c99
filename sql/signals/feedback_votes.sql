CREATE OR REPLACE FUNCTION feedback_votes(kind text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE kind WHEN 'useful' THEN 1 WHEN 'not_useful' THEN -1 WHEN 'outdated' THEN -1
                     WHEN 'incorrect' THEN -3 END;

COMMENT ON FUNCTION feedback_votes(text) IS
    'Returns the votes that a kind of feedback counts for a memory. Negative votes count against '
    'it.';

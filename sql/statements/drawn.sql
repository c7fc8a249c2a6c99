-- The judged memories and the strongest others, since sensible weights rank one of these first: half
-- of them by the present profile, half by the other places.
INSERT INTO pg_temp.pgrecall_pairs
SELECT :number::integer, placed.id, placed.gain, :moment, :drawn
  FROM placed
 WHERE placed.gain > 0
    OR placed.by_start * 2 <= :most::integer
    OR least(placed.by_similarity, placed.by_words, placed.by_all) * :part::integer <= :most::integer

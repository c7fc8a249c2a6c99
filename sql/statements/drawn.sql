-- The judged memories of each query and the strongest others, since sensible weights rank one of
-- these first: half of them by the present profile, half by other weights.
SELECT queries.number, its.*
  FROM queries
 CROSS JOIN LATERAL (
       SELECT placed.id, placed.gain, :drawn
         FROM (SELECT scored.*, coalesce(judged.gain, 0::float8) AS gain,
                      row_number() OVER (ORDER BY scored.start DESC, scored.id) AS by_start,
                      row_number() OVER (ORDER BY scored.nearness DESC NULLS LAST, scored.id)
                      AS by_similarity,
                      row_number() OVER (ORDER BY scored.words DESC, scored.id) AS by_words,
                      row_number() OVER (ORDER BY scored.total DESC, scored.id) AS by_total
                 FROM (SELECT :query_scores) scored
                 LEFT JOIN judged ON judged.number = queries.number AND judged.id = scored.id
              ) placed
        WHERE placed.gain > 0::float8
           OR placed.by_start * 2 <= :most::integer
           OR least(placed.by_similarity, placed.by_words, placed.by_total) * :part::integer
              <= :most::integer) its

-- The places of each memory by the present profile, and by other sensible weights.
SELECT every.id, every.score, coalesce(judged.gain, 0::float8) AS gain,
       row_number() OVER (ORDER BY :by_start DESC, every.id) AS by_start,
       row_number() OVER (ORDER BY :by_similarity DESC, every.id) AS by_similarity,
       row_number() OVER (ORDER BY :by_words DESC, every.id) AS by_words,
       row_number() OVER (ORDER BY :by_all DESC, every.id) AS by_all
  FROM (SELECT every.* FROM every OFFSET 0) every
  LEFT JOIN unnest(:judged_ids::uuid[], :gains::float8[]) judged(id, gain) ON judged.id = every.id

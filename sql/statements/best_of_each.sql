-- The best by each of the lists: 0 is the score, a positive number a signal's place, and a negative
-- one that of an age. A memory without a clock comes first among the young: its recency is the same
-- whatever the half-life. One list after the other reads the scores, so this grows with the number
-- of memories, and not with that of pairs.
SELECT list.number, one.*
  FROM unnest(:lists::integer[]) list(number)
 CROSS JOIN LATERAL (
       SELECT every.*,
              CASE WHEN list.number = 0 THEN every.score
                   WHEN list.number > 0 THEN every.signals[list.number]
                   ELSE coalesce(-every.ages[-list.number], 0::float8) END AS value
         FROM every
        ORDER BY value DESC, every.id
        LIMIT (SELECT :n::integer)) one

-- The best by the score, ties by id, and those with more of a list than its n-th greatest value.
-- Where there are fewer than n, all are among the best by the score.
SELECT one.*
  FROM (SELECT above.*, row_number() OVER (ORDER BY above.score DESC, above.id) AS place
          FROM above) one
 CROSS JOIN numbers
 WHERE one.place <= :n::bigint
    OR EXISTS (SELECT FROM unnest(one.listed, numbers.least) its(value, least)
                WHERE its.value > its.least)

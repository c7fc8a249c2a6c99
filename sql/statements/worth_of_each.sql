-- The mean nDCG over all ranks. Sums are ordered, so that no bit depends on the plan.
SELECT reached.candidate, avg(reached.ndcg ORDER BY reached.ndcg) AS worth
  FROM (SELECT places.candidate,
               sum(discounted.gain ORDER BY discounted.gain) / min(ideal.gain) AS ndcg
          FROM places
         CROSS JOIN LATERAL (
               SELECT places.gain / (ln(1::float8 + places.rank::float8) / ln(2::float8)) AS gain
               ) discounted
          JOIN unnest(:query_numbers::integer[], :ideals::float8[]) ideal(number, gain)
            ON ideal.number = places.number
         GROUP BY places.candidate, places.number) reached
 GROUP BY reached.candidate

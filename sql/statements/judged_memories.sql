-- The memories that answer them.
SELECT given.*
  FROM unnest(:judged_numbers::integer[], :judged_ids::uuid[], :gains::float8[])
       given(number, id, gain)

-- Each candidate has a weight of each signal, and a rate or half-life of recency.
SELECT given.*
  FROM unnest(:candidates::integer[], :speeds::float8[], :weights)
       given(number, speed, :weight_names)

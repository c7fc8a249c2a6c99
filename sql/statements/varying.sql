-- The same of each query.
SELECT :varies FROM pg_temp.pgrecall_pairs pairs GROUP BY pairs.number

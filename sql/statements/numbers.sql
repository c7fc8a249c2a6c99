-- total: how many memories pass. least: the n-th greatest value of each list, if there are n.
SELECT (SELECT sum(peaks.memories)::bigint FROM peaks) AS total,
       ARRAY(SELECT coalesce((SELECT above.listed[list.place] AS value FROM above
                               WHERE above.listed[list.place] > cuts.listed[list.place]
                               ORDER BY value DESC OFFSET :n::bigint - 1 LIMIT 1),
                             nullif(cuts.listed[list.place], '-Infinity'::float8))
               FROM generate_series(1, :lists::integer) list(place)
              ORDER BY list.place) AS least
  FROM cuts

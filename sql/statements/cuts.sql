-- For each list, a value that n memories reach; -Infinity if there are fewer groups.
SELECT coalesce((SELECT peaks.score FROM peaks
                  ORDER BY peaks.score DESC OFFSET :n::bigint - 1 LIMIT 1),
                '-Infinity'::float8) AS score,
       ARRAY(SELECT coalesce((SELECT peaks.listed[list.place] AS value FROM peaks
                               ORDER BY value DESC OFFSET :n::bigint - 1 LIMIT 1),
                             '-Infinity'::float8)
               FROM generate_series(1, :lists::integer) list(place)
              ORDER BY list.place) AS listed

-- Which memories will be half forgotten in a week, so that they should be confirmed or archived?
--   psql -v agent=ada -f decaying.sql
SELECT round(max(recency)::numeric, 3) AS recency, round(min(recency)::numeric, 3) AS in_a_week,
       id, left(content, 80) AS content
  FROM (SELECT id, content, signal_recency AS recency, false AS is_later
          FROM pgrecall.ranked(:'agent', profile => 'five_factor')
         UNION ALL
        SELECT id, content, signal_recency, true
          FROM pgrecall.ranked(:'agent', profile => 'five_factor', include_inactive => true,
                               as_of => now() + interval '7 days')) both_days
 GROUP BY id, content
HAVING max(recency) FILTER (WHERE NOT is_later) >= 0.5 AND min(recency) < 0.5
 ORDER BY min(recency), id LIMIT 100;

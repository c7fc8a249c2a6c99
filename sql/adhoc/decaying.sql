-- Which memories will be half forgotten in a week, so that they should be confirmed or archived?
--   psql -v agent=ada -f decaying.sql
SELECT round(today.signal_recency::numeric, 3) AS recency,
       round(later.signal_recency::numeric, 3) AS in_a_week, today.id,
       left(today.content, 80) AS content
  FROM pgrecall.ranked(:'agent', profile => 'five_factor') today
  JOIN pgrecall.ranked(:'agent', profile => 'five_factor', as_of => now() + interval '7 days',
                       include_inactive => true) later
 USING (agent_id, id)
 WHERE today.signal_recency >= 0.5 AND later.signal_recency < 0.5
 ORDER BY later.signal_recency, today.id
 LIMIT 100;

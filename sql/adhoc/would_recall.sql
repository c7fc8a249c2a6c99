-- What would this agent recall for these words, and by which signals?
--   psql -v agent=ada -v words='the door code' -f would_recall.sql
SELECT round(score::numeric, 3) AS score, round(signal_keyword::numeric, 3) AS words,
       round(signal_recency::numeric, 3) AS recency, id, left(content, 80) AS content
  FROM pgrecall.ranked(:'agent', keywords => :'words')
 ORDER BY ranked.score DESC, id
 LIMIT 10;

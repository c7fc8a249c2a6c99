-- Which memories say nearly the same? It compares each with each: mind agents with many.
--   psql -v agent=ada -f duplicates.sql
SELECT round(pgrecall.cosine(a.embedding, b.embedding)::numeric, 3) AS cosine, a.id, b.id AS other,
       left(a.content, 60) AS content, left(b.content, 60) AS other_content
  FROM pgrecall.agent_memories a
  JOIN pgrecall.agent_memories b ON b.agent_id = a.agent_id AND b.id > a.id
 WHERE a.agent_id = :'agent' AND a.status = 'active' AND b.status = 'active'
   AND pgrecall.cosine(a.embedding, b.embedding) > 0.95
 ORDER BY 1 DESC, a.id, b.id
 LIMIT 50;

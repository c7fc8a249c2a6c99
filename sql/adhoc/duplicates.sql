-- Which memories say nearly the same? It compares each with each: mind agents with many.
--   psql -v agent=ada -f duplicates.sql
WITH live AS MATERIALIZED (
    SELECT id, content, embedding FROM pgrecall.agent_memories
     WHERE agent_id = :'agent' AND status = 'active')
SELECT round(pgrecall.cosine(a.embedding, b.embedding)::numeric, 3) AS cosine, a.id, b.id AS other,
       left(a.content, 60) AS content, left(b.content, 60) AS other_content
  FROM live a JOIN live b ON b.id > a.id
 WHERE pgrecall.cosine(a.embedding, b.embedding) > 0.95
 ORDER BY 1 DESC, a.id, b.id
 LIMIT 50;

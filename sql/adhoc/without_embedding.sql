-- How many memories have no embedding, so that no question by its meaning finds them?
--   psql -f without_embedding.sql
SELECT agent_id, count(*) FILTER (WHERE embedding IS NULL) AS without_embedding,
       count(*) AS memories, array_agg(DISTINCT embedding_model) AS models
  FROM pgrecall.agent_memories
 WHERE status = 'active'
 GROUP BY agent_id
HAVING bool_or(embedding IS NULL)
 ORDER BY without_embedding DESC, agent_id
 LIMIT 20;

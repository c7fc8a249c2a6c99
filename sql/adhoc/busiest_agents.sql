-- Which agents and teams retrieve the most, how much do they store, and when were they here last?
--   psql -f busiest_agents.sql
SELECT agent_id, count(*) AS memories, sum(retrieval_count) AS retrievals,
       max(last_accessed_at)::timestamptz(0) AS last_access
  FROM pgrecall.memory_records
 GROUP BY agent_id
 ORDER BY retrievals DESC, memories DESC, agent_id
 LIMIT 20;

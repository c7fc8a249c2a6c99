-- Best first, ties by id. profile: the number of the profile, from 0.
SELECT queries.number, its.profile, its.id,
       (SELECT memories.content FROM memories
         WHERE memories.agent_id = its.owner_id AND memories.id = its.id) AS content
  FROM queries
 CROSS JOIN LATERAL (
       WITH scored AS MATERIALIZED (SELECT :query_scores)
       :firsts) its
 ORDER BY queries.number, its.profile, its.score DESC, its.id

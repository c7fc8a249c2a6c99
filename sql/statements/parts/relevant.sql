-- The condition on relevance.
SELECT FROM pgrecall.agent_memories WHERE
       true
   AND (:relevance >= :min_relevance::float8) --? min_relevance

-- The scores of every memory for the query of the row `queries`. OFFSET 0 forces each value to be
-- computed once.
SELECT
compared.id, :scores
  FROM (SELECT agent_memories.*,
               pgrecall.similarity(agent_memories.embedding, :query, NULL::float8) AS similarity
             , :relevance AS relevance --? reach
             , :of_query --? signals_of_query
          FROM known agent_memories
          FULL JOIN (:shares words
                     JOIN (SELECT 1) one_share
                       ON CASE WHEN words.memory_id IS NULL THEN 0 ELSE 1 END = 1)
            ON words.memory_id = agent_memories.id --? words
           AND (words.agent_id = agent_memories.agent_id) --? words teams
         WHERE CASE WHEN agent_memories.id IS NULL THEN false
                    ELSE true
                     AND (pgrecall.cosine(agent_memories.embedding, :query)
                          >= :least_similarity::float8) --? least_similarity
               END
        OFFSET 0) compared

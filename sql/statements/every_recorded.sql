-- As every, by what was known at the moment of a recorded query. No event tells of a retrieval, so
-- nothing was retrieved.
SELECT agent_memories.agent_id, agent_memories.id, :score AS score
  FROM (SELECT :as_recorded
          FROM pgrecall.agent_memories memories
          JOIN (SELECT 1) one_memory
            ON true
           AND (memories.agent_id = :owner_id::text) --? !teams
           AND (memories.agent_id = ANY (:whole_owners::text[])) --? teams
          FULL JOIN (former JOIN (SELECT 1) one_past ON true)
            ON former.memory_id = memories.id
           AND (former.agent_id = memories.agent_id) --? teams
       ) agent_memories
 CROSS JOIN (SELECT NULL::timestamptz AS last_accessed_at, NULL::integer AS retrieval_count)
            memory_usage
  FULL JOIN (pgrecall.keyword_shares(:whole_owners::text[], :query_text::text, :worded_owners::text[],
                 :as_of::timestamptz) words
             JOIN (SELECT 1) one_share ON CASE WHEN words.memory_id IS NULL THEN 0 ELSE 1 END = 1)
    ON words.memory_id = agent_memories.id --? words
   AND (words.agent_id = agent_memories.agent_id) --? words teams
 WHERE CASE WHEN agent_memories.id IS NULL THEN false
            ELSE true
             AND :conditions
             AND (:labelled) --? labels
             AND (:trusted) --? min_trust
       END

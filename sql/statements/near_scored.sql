-- The best of these memories by their score.
SELECT agent_memories.agent_id, agent_memories.id, :score AS score
     , coalesce(words.share, 0::float8) AS share --? words
     , words.coverage --? words
     , one.hops
  FROM near one
  :looked_up
  LEFT JOIN pgrecall.keyword_shares(:all_owners::text[], :keywords::text, :worded_owners::text[],
                :as_of::timestamptz) words
    ON words.memory_id = agent_memories.id --? words
   AND (words.agent_id = agent_memories.agent_id) --? words teams
 WHERE true
   AND :conditions
   AND (:trusted) --? min_trust
   AND (:relevant) --? min_relevance
 ORDER BY score DESC, agent_memories.id
 LIMIT :ranked::integer

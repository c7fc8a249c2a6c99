-- The score of each candidate that passes.
SELECT agent_memories.agent_id, agent_memories.id, :score AS score
     , coalesce(words.share, 0::float8) AS share --? words
     , words.coverage --? words
     , one.source
  FROM nominated one
  :looked_up
  :words_of_each --? words
 WHERE true
   AND :conditions
   AND (:trusted) --? min_trust
   AND (:relevant) --? min_relevance

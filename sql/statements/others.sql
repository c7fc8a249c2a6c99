-- The score of the turns that are not among the best. Turns that come along need no relevance.
SELECT agent_memories.agent_id, agent_memories.id, :score AS score
     , coalesce(words.share, 0::float8) AS share --? words
     , words.coverage --? words
     , one.hit, one.hit_score
  FROM (SELECT nearest.* FROM nearest
         WHERE NOT EXISTS (SELECT FROM ranked WHERE ranked.agent_id = nearest.agent_id
                                                AND ranked.id = nearest.id)) one
  :looked_up --? !apart
  :looked_up_gathered --? apart
  :words_of_each --? words
 WHERE true
   AND :conditions
   AND (:trusted) --? min_trust
   AND (:relevant) --? min_relevance !turns

-- The other conditions on a memory that is looked up by its key, each with a part of its own.
SELECT FROM pgrecall.agent_memories WHERE
       true
   AND (:trusted) --? min_trust
   AND (:relevant) --? min_relevance

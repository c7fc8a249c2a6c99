-- The score of every memory that passes. A scalar subquery hides the owner from the planner, so the
-- plan is the same for each and is cached, unless each is planned anyway. Joins are full because
-- PostgreSQL cannot execute a full join as a nested loop over all pairs of rows. It might choose
-- that for a left join while the tables are nearly empty, and cache the plan. A CASE removes rows
-- without a memory: a condition that the planner understands would turn a full join into a left
-- one. Another makes it expect few words, so that it hashes these and not the memories with their
-- embeddings (ADR-0033).
SELECT agent_memories.agent_id, agent_memories.id
     , :score AS score --? !listed
     , :values --? listed
     , mod(uuid_hash(agent_memories.id)::bigint + 2147483648,
           4::bigint * :n::bigint) AS part --? listed
     , coalesce(words.share, 0::float8) AS share --? words
     , words.coverage --? words
  FROM pgrecall.agent_memories
  JOIN (SELECT 1) one_memory
    ON true
   AND (agent_memories.agent_id = (SELECT :owner_id::text)) --? !teams !planned
   AND (agent_memories.agent_id = :owner_id::text) --? !teams planned
   AND (agent_memories.agent_id = ANY (:whole_owners::text[])) --? teams
   AND :conditions
  FULL JOIN (pgrecall.memory_usage
             JOIN (SELECT 1) one_usage
               ON true
              AND (memory_usage.agent_id = (SELECT :owner_id::text)) --? !teams !planned
              AND (memory_usage.agent_id = :owner_id::text) --? !teams planned
              AND (memory_usage.agent_id = ANY (:whole_owners::text[])) --? teams
            )
    ON memory_usage.memory_id = agent_memories.id --? usage
   AND (memory_usage.agent_id = agent_memories.agent_id) --? usage teams
  FULL JOIN (pgrecall.keyword_shares(:whole_owners::text[], :keywords::text,
                 :worded_owners::text[], :as_of::timestamptz) words
             JOIN (SELECT 1) one_share ON CASE WHEN words.memory_id IS NULL THEN 0 ELSE 1 END = 1)
    ON words.memory_id = agent_memories.id --? words
   AND (words.agent_id = agent_memories.agent_id) --? words teams
 WHERE CASE WHEN agent_memories.id IS NULL THEN false
            ELSE true
             AND (:trusted) --? min_trust
             AND (:relevant) --? min_relevance
       END

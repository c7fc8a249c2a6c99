-- The score of every memory that passes, of an owner with many. Each search is planned by its
-- values, so its joins can be left ones, which can run in parallel.
SELECT agent_memories.agent_id, agent_memories.id
     , :score AS score --? !listed
     , :values --? listed
     , mod(uuid_hash(agent_memories.id)::bigint + 2147483648,
           4::bigint * :n::bigint) AS part --? listed
     , coalesce(words.share, 0::float8) AS share --? words
     , words.coverage --? words
  FROM pgrecall.agent_memories
  LEFT JOIN pgrecall.memory_usage
    ON memory_usage.agent_id = agent_memories.agent_id
   AND memory_usage.memory_id = agent_memories.id --? usage
   AND (memory_usage.agent_id = ANY (:whole_owners::text[])) --? usage teams
  LEFT JOIN unnest(
                (SELECT worded.memories FROM worded),
                (SELECT worded.shares FROM worded),
                (SELECT worded.coverages FROM worded)
              , (SELECT worded.owners FROM worded) --? teams
            ) words(memory_id, share, coverage
                  , agent_id --? teams
            )
    ON words.memory_id = agent_memories.id --? words
   AND (words.agent_id = agent_memories.agent_id) --? words teams
 WHERE true
   AND (agent_memories.agent_id = :owner_id::text) --? !teams
   AND (agent_memories.agent_id = ANY (:whole_owners::text[])) --? teams
   AND :conditions
   AND (:trusted) --? min_trust
   AND (:relevant) --? min_relevance

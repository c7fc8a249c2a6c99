-- The memory of this id of each owner that has one: its score, and which conditions it meets.
SELECT agent_memories.agent_id, agent_memories.id, :score AS score
     , coalesce(words.share, 0::float8) AS share --? words
     , words.coverage --? words
     , jsonb_build_object(:meets) AS meets
     , pgrecall.unmet_comparison(agent_memories.metadata, :compared::jsonb)
       AS unmet_comparison --? compared
  FROM (SELECT owner.agent_id, :id::uuid AS id FROM unnest(:all_owners::text[]) owner(agent_id)) one
  :looked_up
  LEFT JOIN pgrecall.keyword_shares(:all_owners::text[], :keywords::text, :worded_owners::text[],
                :as_of::timestamptz) words
    ON words.memory_id = agent_memories.id --? words
   AND (words.agent_id = agent_memories.agent_id) --? words teams

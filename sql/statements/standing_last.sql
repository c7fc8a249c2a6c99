-- before_of_session: how many of its session come before it, whatever is left out.
-- ranked: how many memories pass. before: how many of them come before it. last: the k-th memory.
SELECT numbers.ranked, numbers.before, last.agent_id AS last_owner, last.id AS last_id,
       last.score AS last_score, own.score AS raised, own.hit AS beside
     , (SELECT count(*) FROM unlimited other
         WHERE other.agent_id = agent_memories.agent_id
           AND other.its_session = agent_memories.session
           AND (other.score > own.score OR other.score = own.score AND other.id < :id::uuid))
       AS before_of_session --? limits per_session
     , (SELECT count(*) FROM unlimited other
         WHERE other.its_subject = agent_memories.subject
           AND (other.score > own.score OR other.score = own.score AND other.id < :id::uuid))
       AS before_of_subject --? limits per_subject
     , (SELECT count(*) FROM unlimited other
         WHERE other.its_day = :day
           AND (other.score > own.score OR other.score = own.score AND other.id < :id::uuid))
       AS before_of_day --? limits per_day
  FROM own
  LEFT JOIN pgrecall.agent_memories
    ON agent_memories.agent_id = :whose::text AND agent_memories.id = :id::uuid --? limits
 CROSS JOIN LATERAL (
       SELECT count(*) AS ranked,
              count(*) FILTER (WHERE placed.score > own.score
                                  OR placed.score = own.score AND placed.id < :id::uuid) AS before
         FROM placed) numbers
  LEFT JOIN (SELECT placed.agent_id, placed.id, placed.score FROM placed
              ORDER BY placed.score DESC, placed.id
             OFFSET :k::integer - 1 LIMIT 1) last ON true

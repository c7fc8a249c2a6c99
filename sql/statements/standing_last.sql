-- ranked: how many memories pass. before: how many of them come before it. last: the k-th memory.
-- attached_to: the best hit next to it.
SELECT numbers.ranked, numbers.before, last.agent_id AS last_owner, last.id AS last_id,
       last.score AS last_score
     , (SELECT nearest.hit FROM nearest
         WHERE nearest.agent_id = :whose::text AND nearest.id = :id::uuid) AS attached_to --? turns
     , NULL::uuid AS attached_to --? !turns
  FROM (SELECT count(*) AS ranked,
               count(*) FILTER (WHERE every.score > :own_score::float8
                                   OR every.score = :own_score::float8 AND every.id < :id::uuid)
               AS before
          FROM every) numbers
  LEFT JOIN (SELECT every.agent_id, every.id, every.score FROM every
              ORDER BY every.score DESC, every.id
             OFFSET :k::integer - 1 LIMIT 1) last ON true

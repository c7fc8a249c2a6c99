-- ranked: how many memories pass. before: how many of them come before it. last: the k-th memory.
SELECT numbers.ranked, numbers.before, last.agent_id AS last_owner, last.id AS last_id,
       last.score AS last_score, own.score AS raised, own.hit AS beside
  FROM own
 CROSS JOIN LATERAL (
       SELECT count(*) AS ranked,
              count(*) FILTER (WHERE placed.score > own.score
                                  OR placed.score = own.score AND placed.id < :id::uuid) AS before
         FROM placed) numbers
  LEFT JOIN (SELECT placed.agent_id, placed.id, placed.score FROM placed
              ORDER BY placed.score DESC, placed.id
             OFFSET :k::integer - 1 LIMIT 1) last ON true

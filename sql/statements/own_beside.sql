-- The score of the memory itself, and the best hit beside it.
SELECT nearest.hit
     , pgrecall.raised_score(
           :own_score::float8, :lend::float8, nearest.hit_score, nearest.bytes) AS score --? lends
     , :own_score::float8 AS score --? along
  FROM (SELECT :whose::text AS agent_id, :id::uuid AS id) one
  LEFT JOIN nearest ON nearest.agent_id = one.agent_id AND nearest.id = one.id

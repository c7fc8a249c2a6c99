-- The verdict on each memory: packed, or why it is left out.
SELECT pool.*, verdict.verdict, verdict.step, verdict.near
  FROM pool
  JOIN pgrecall.pack(
       ARRAY(SELECT CASE WHEN pool.relevant THEN pool.score END FROM pool
              WHERE NOT pool.comes_along ORDER BY pool.place),
       ARRAY(SELECT pool.cost FROM pool ORDER BY pool.place),
       ARRAY(SELECT pool.memory_type FROM pool ORDER BY pool.place),
       :budget::integer, :most::integer, :floor::float8, :max_skips::integer,
       :reserved_types::text[], :reserved_shares::float8[], diversity => :diversity::float8,
       max_similarity => :max_similarity::float8
     , alike => ARRAY(SELECT pgrecall.similarity(one.embedding, other.embedding, 0::float8)
                        FROM pool one CROSS JOIN pool other
                       WHERE one.relevant AND other.relevant
                         AND NOT one.comes_along AND NOT other.comes_along
                       ORDER BY one.place, other.place) --? compares
     , hits => ARRAY(SELECT pairs.hit FROM pairs ORDER BY pairs.number) --? turns
     , turns => ARRAY(SELECT pairs.turn FROM pairs ORDER BY pairs.number) --? turns
       ) verdict ON verdict.place = pool.place

-- The k that maximal marginal relevance chooses among the best, as a context does that has room for
-- all. step: the number in the order of choice.
WITH pool AS MATERIALIZED (
    SELECT one.*, agent_memories.embedding,
           row_number() OVER (ORDER BY one.score DESC, one.id)::integer AS place
      FROM found one
      :looked_up
)
SELECT pool.*, verdict.step
  FROM pool
  JOIN pgrecall.pack(
       ARRAY(SELECT pool.score FROM pool ORDER BY pool.place),
       ARRAY(SELECT 0 FROM pool), ARRAY(SELECT '' FROM pool), 0, :k::integer
     , floor => :min_score::float8 --? min_score
     , diversity => :diversity::float8
     , alike => ARRAY(SELECT pgrecall.similarity(near.embedding, other.embedding, 0::float8)
                        FROM pool near CROSS JOIN pool other
                       ORDER BY near.place, other.place)
       ) verdict ON verdict.place = pool.place AND verdict.verdict = 'packed'

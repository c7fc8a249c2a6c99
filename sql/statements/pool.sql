-- The ranked memories with their places and tokens: relevant ones first, turns to add last. With a
-- reranker, its order follows those that reach the floor of the score, as pack() needs them.
SELECT row_number() OVER (ORDER BY priced.comes_along, priced.relevant DESC
                                 , (priced.score >= :floor::float8) DESC --? reranked
                                 , priced.reranked --? reranked
                                 , priced.score DESC, priced.id)::integer AS place,
       greatest(least(priced.counted, :most_tokens::integer) + :per_block::integer
                + least(priced.kinds, :longest_kind::integer)
                + :per_line::integer * priced.breaks + :per_escape::integer * priced.escapes,
                (SELECT measured.cost
                   FROM unnest(:measured_ids::uuid[], :measured_costs::integer[]) measured(id, cost)
                  WHERE measured.id = priced.id)) AS cost,
       priced.*
  FROM (SELECT one.*, agent_memories.memory_type,
               coalesce(agent_memories.tokens,
                        regexp_count(agent_memories.content, :pieces::text)) AS counted,
               regexp_count(agent_memories.memory_type, :category_pieces::text) AS kinds
             , regexp_count(agent_memories.content, :line_breaks::text) AS breaks --? indents
             , 0 AS breaks --? !indents
             , regexp_count(agent_memories.content, :escaped::text) AS escapes --? escapes
             , 0 AS escapes --? !escapes
             , agent_memories.embedding --? compares
             , (SELECT given.number
                  FROM unnest(:reranked_owners::text[], :reranked_ids::uuid[])
                       WITH ORDINALITY given(agent_id, id, number)
                 WHERE given.agent_id = one.agent_id AND given.id = one.id) AS reranked --? reranked
             , (one.attached_to IS NOT NULL) AS comes_along --? turns
             , false AS comes_along --? !turns
             , (one.attached_to IS NOT NULL
                OR :relevance >= :min_relevance::float8) AS relevant --? relevance turns
             , (:relevance >= :min_relevance::float8) AS relevant --? relevance !turns
             , true AS relevant --? !relevance
          FROM found one
          :looked_up --? !apart
          :looked_up_gathered --? apart
          CROSS JOIN LATERAL (SELECT one.share, one.coverage) words --? words
       ) priced

-- The best in full, with the value of each signal.
SELECT :columns, one.score,
       pgrecall.similarity(agent_memories.embedding, :query, NULL::float8) AS similarity,
       :signals AS signals
     , pgrecall.cosine(agent_memories.embedding, :query) AS cosine --? !brief
     , :relevance AS relevance --? relevance
     , (SELECT asked.has_terms FROM asked) AS has_terms --? redistribute by_words
     , (SELECT asked.entities FROM asked) AS query_entities --? naming
     , (SELECT asked.names FROM asked) AS names --? naming
     , one.attached_to, one.hit_score --? turns
     , one.passed, one.total --? indexed
     , one.place, one.cost, one.verdict, one.step, one.near --? context
     , one.step --? diverse
     , one.hops --? linked
     , :ages AS ages --? candidates
     , ARRAY(SELECT asked_for.term FROM asked_for
              WHERE asked_for.term IN (
                    SELECT unnest(tsvector_to_array(agent_memories.terms)))
              ORDER BY asked_for.place) AS terms --? candidates words
     , one.meets --? explain
     , one.unmet_comparison --? explain compared
  FROM chosen one
  :looked_up --? !apart
  :looked_up_gathered --? apart
  CROSS JOIN LATERAL (SELECT one.share, one.coverage) words --? words
 WHERE true
   AND (one.score >= :min_score::float8) --? min_score !turns !indexed

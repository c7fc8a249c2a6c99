-- The best memories of owners on several nodes, which were ranked owner by owner.
SELECT best.agent_id, best.id, best.score
     , best.share --? words
     , best.coverage --? words
  FROM unnest(:ranked_owners::text[], :ranked_ids::uuid[], :ranked_scores::float8[],
              :ranked_shares::float8[], :ranked_coverages::float8[])
       best(agent_id, id, score, share, coverage)
 WHERE true
   AND (best.score >= :min_score::float8) --? turns min_score

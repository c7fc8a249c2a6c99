-- The candidates by position and by words, and everything newer, as in nominated.
SELECT sources.agent_id, found.memory_id AS id,
       min(sources.number) FILTER (WHERE found.from_index) AS source
  FROM sources
 CROSS JOIN more
 CROSS JOIN LATERAL (
       SELECT coalesce(array_agg(terms.term ORDER BY terms.term), '{}') AS terms,
              coalesce(array_agg(terms.memories ORDER BY terms.term), '{}') AS memories,
              coalesce(array_agg(terms.weight ORDER BY terms.term), '{}') AS weights
         FROM terms WHERE terms.agent_id = sources.agent_id) its
 CROSS JOIN LATERAL pgrecall.rank_candidates(sources.agent_id, sources.relation, sources.direction,
       more.times * :candidates::integer, sources.written_until, sources.used_direction,
       greatest(:reach::integer, 2 * more.times * :candidates::integer),
       :keyword_weight::float8, its.terms, its.memories, its.weights, :keyword_b::float8,
       :keyword_pivot::float8) found
 GROUP BY sources.agent_id, found.memory_id

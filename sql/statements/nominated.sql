-- The candidates of the rank indexes and everything newer, without duplicates. source: the
-- number of the index that has it, NULL for what is newer.
SELECT sources.agent_id, found.memory_id AS id,
       min(sources.number) FILTER (WHERE found.from_index) AS source
  FROM sources
 CROSS JOIN more
 CROSS JOIN LATERAL pgrecall.rank_candidates(sources.agent_id, sources.relation, sources.direction,
       more.times * :candidates::integer, sources.written_until, sources.used_direction,
       :reach::integer) found
 GROUP BY sources.agent_id, found.memory_id

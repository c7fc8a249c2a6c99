-- Best first, ties by id, with the numbers of all. Each memory with terms is a hit, so the full
-- join is a left one that cannot be a nested loop (ADR-0033).
SELECT hits.*, numbers.total, numbers.least
     , worded.terms --? words
  FROM hits
  FULL JOIN worded ON worded.agent_id = hits.agent_id AND worded.memory_id = hits.id --? words
 CROSS JOIN numbers
 ORDER BY hits.score DESC, hits.id

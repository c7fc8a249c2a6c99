-- A term characterises an owner best when several of its memories have it and most do not: share ·
-- weight.
CREATE OR REPLACE VIEW telling_terms WITH (security_invoker = true) AS
SELECT counted.agent_id, counted.term, counted.memories,
       term_weight(counted.memories, owners.total) AS weight,
       counted.memories / owners.total::float8
           * term_weight(counted.memories, owners.total) AS telling
  FROM (SELECT m.agent_id, each.term, count(*) AS memories
          FROM agent_memories m
         CROSS JOIN LATERAL unnest(tsvector_to_array(m.terms)) each(term)
         GROUP BY m.agent_id, each.term) counted
  JOIN (SELECT m.agent_id, count(*) AS total FROM agent_memories m GROUP BY m.agent_id) owners
    ON owners.agent_id = counted.agent_id;

COMMENT ON VIEW telling_terms IS
    'The terms of every owner''s memories. Filter on agent_id and order by telling to see the '
    'subjects of the memories.';

COMMENT ON COLUMN telling_terms.agent_id IS
    'The owner of the memories: an agent, or a team as team:<id>.';
COMMENT ON COLUMN telling_terms.term IS
    'A word as searches compare it: without its ending, accents and case.';
COMMENT ON COLUMN telling_terms.memories IS 'The number of the owner''s memories that have it.';
COMMENT ON COLUMN telling_terms.weight IS
    'Its weight in the keyword signal: ln(1 + (N - n + 0.5) / (n + 0.5)).';
COMMENT ON COLUMN telling_terms.telling IS 'The share of memories that have it, times its weight.';

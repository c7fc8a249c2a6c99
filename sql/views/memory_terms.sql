-- One name for the words of both tables of memories. of_team is a literal in each branch, so that a
-- query for one of them reads that table alone, by its index of words.
CREATE VIEW memory_terms WITH (security_invoker = true) AS
SELECT m.agent_id, false AS of_team, m.id AS memory_id, m.terms
  FROM agent_memories m
UNION ALL
SELECT m.team_id, true, m.id, m.terms
  FROM team_memories m;

COMMENT ON VIEW memory_terms IS
    'The words of memories as they are compared; filter on agent_id and of_team.';

COMMENT ON COLUMN memory_terms.agent_id IS 'Whose memory it is: an agent, or a team.';
COMMENT ON COLUMN memory_terms.of_team IS 'Whether it is a memory of a team.';
COMMENT ON COLUMN memory_terms.memory_id IS 'The memory.';
COMMENT ON COLUMN memory_terms.terms IS 'Its words with their places.';

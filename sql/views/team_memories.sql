-- To look at by hand: where teams' memories are an owner's like all others.
CREATE VIEW team_memories WITH (security_invoker = true) AS
SELECT substr(m.agent_id, 6) AS team_id, m.*
  FROM agent_memories m
 WHERE starts_with(m.agent_id, 'team:');

COMMENT ON VIEW team_memories IS
    'The memories of teams by their id; in all other places a team is the owner team:<id>.';

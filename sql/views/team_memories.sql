-- This view is for people who read. Everywhere else a team is the owner team:<id>.
CREATE OR REPLACE VIEW team_memories WITH (security_invoker = true) AS
SELECT substr(m.agent_id, 6) AS team_id, m.agent_id, m.id, m.memory_type, m.tier, m.status,
       m.importance, m.trust, m.created_at, m.content
  FROM agent_memories m
 WHERE starts_with(m.agent_id, 'team:');

COMMENT ON VIEW team_memories IS
    'Memories of teams by team_id. The table agent_memories has all their columns.';

COMMENT ON COLUMN team_memories.team_id IS 'The team, without team:.';
COMMENT ON COLUMN team_memories.agent_id IS 'The owner as it is stored, team:<id>.';
COMMENT ON COLUMN team_memories.id IS 'The id of the memory.';
COMMENT ON COLUMN team_memories.memory_type IS
    'The kind of memory, such as episodic, fact or task.';
COMMENT ON COLUMN team_memories.tier IS 'The tier: short, medium or long.';
COMMENT ON COLUMN team_memories.status IS
    'The status: active, pending, consolidated, completed or archived.';
COMMENT ON COLUMN team_memories.importance IS 'The importance of the memory, 0 to 1.';
COMMENT ON COLUMN team_memories.trust IS 'Trust as stored, before decay; NULL: never assessed.';
COMMENT ON COLUMN team_memories.created_at IS 'The time of its creation; NULL: unknown.';
COMMENT ON COLUMN team_memories.content IS 'The text.';

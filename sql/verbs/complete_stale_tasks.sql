CREATE OR REPLACE FUNCTION complete_stale_tasks(
    agent text, older_than interval DEFAULT '7 days', reason text DEFAULT 'stale task',
    actor text DEFAULT session_user, metadata jsonb DEFAULT '{}') RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    cutoff timestamptz;
    stale uuid[];
BEGIN
    PERFORM require_note(agent, actor, metadata);
    PERFORM require_duration('older_than', older_than);
    cutoff := now() - make_interval(secs => date_part('epoch', older_than));
    stale := ARRAY(
        SELECT m.id FROM agent_memories m
         WHERE m.agent_id = agent AND m.status = 'active' AND m.created_at < cutoff
           AND (m.memory_type = 'task' OR 'task' = ANY (m.additional_types))
           AND m.id NOT IN (SELECT u.memory_id FROM memory_usage u  -- read once, and hashed
                             WHERE u.agent_id = agent AND u.last_accessed_at >= cutoff)
         ORDER BY m.id FOR NO KEY UPDATE OF m);
    RETURN archive_memories(agent, stale, 'completed', '{}', reason, actor,
                    metadata);
END
$verb$;

COMMENT ON FUNCTION complete_stale_tasks IS
    'Completes active memories of type task whose creation and last access are more than '
    'older_than ago; returns their number.';

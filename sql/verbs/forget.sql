CREATE OR REPLACE FUNCTION forget(
    agent text, memory_ids uuid[], reason text DEFAULT NULL, actor text DEFAULT session_user,
    metadata jsonb DEFAULT '{}') RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
DECLARE
    ids uuid[];
    before jsonb[];
BEGIN
    PERFORM require_note(agent, actor, metadata);
    -- The last event does not contain the text, which is deleted.
    SELECT array_agg(l.id), array_agg(jsonb_build_object(
               'status', l.status, 'trust', l.trust, 'importance', l.importance,
               'usefulness', l.usefulness, 'created_at', l.created_at))
      INTO ids, before
      FROM (SELECT m.id, m.status, m.trust, m.importance, m.usefulness, m.created_at
              FROM agent_memories m
             WHERE m.agent_id = agent AND m.id = ANY (memory_ids) ORDER BY m.id FOR UPDATE) l;
    IF ids IS NULL THEN
        RETURN;
    END IF;
    PERFORM log_events(agent, 'deleted', ids, before, '{}', reason, actor, metadata);
    DELETE FROM agent_memories m WHERE m.agent_id = agent AND m.id = ANY (ids);
    -- Counters are locked in the order of the key, as counting does.
    PERFORM FROM memory_usage u
      WHERE u.agent_id = agent AND u.memory_id = ANY (ids) ORDER BY u.memory_id FOR UPDATE;
    DELETE FROM memory_usage u WHERE u.agent_id = agent AND u.memory_id = ANY (ids);
    DELETE FROM memory_links l
     WHERE l.agent_id = agent AND (l.source_id = ANY (ids) OR l.target_id = ANY (ids));
    PERFORM forget_positions(agent, ids);
    PERFORM note_removed(agent, cardinality(ids));
    RETURN QUERY SELECT unnest(ids);
END
$function$;

COMMENT ON FUNCTION forget IS
    'Deletes memories with their counters and links; their history stays. Returns the ids '
    'of the memories that existed.';

CREATE OR REPLACE FUNCTION forget(
    agent text, memory_ids uuid[], reason text DEFAULT NULL, actor text DEFAULT session_user,
    metadata jsonb DEFAULT '{}') RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    ids uuid[];
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_note(reason, actor, metadata);
    ids := ARRAY(SELECT m.id FROM agent_memories m
                  WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
                  ORDER BY m.id
                    FOR UPDATE);
    -- The last event says nothing of the text, which is to be gone.
    INSERT INTO memory_events (
           agent_id, memory_id, id, event_type, reason, actor, old_values, metadata, occurred_at)
    SELECT agent, m.id, event_id(), 'deleted', forget.reason, forget.actor,
           jsonb_build_object('status', m.status, 'trust', m.trust, 'importance', m.importance,
                              'usefulness', m.usefulness, 'created_at', m.created_at),
           forget.metadata, clock_timestamp()
      FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = ANY (ids)
     ORDER BY m.id;
    DELETE FROM agent_memories m WHERE m.agent_id = agent AND m.id = ANY (ids);
    -- Counters are locked in the order of the key, as those who count lock them.
    PERFORM FROM memory_usage u
      WHERE u.agent_id = agent AND u.memory_id = ANY (ids) ORDER BY u.memory_id FOR UPDATE;
    DELETE FROM memory_usage u WHERE u.agent_id = agent AND u.memory_id = ANY (ids);
    DELETE FROM memory_labels l WHERE l.agent_id = agent AND l.memory_id = ANY (ids);
    DELETE FROM memory_links l
     WHERE l.agent_id = agent AND (l.source_id = ANY (ids) OR l.target_id = ANY (ids));
    PERFORM forget_positions(agent, ids);
    RETURN QUERY SELECT unnest(ids);
END
$function$;

COMMENT ON FUNCTION forget IS
    'Deletes memories with their counters, labels and links; what happened to them stays in their history. Returns the ids of those that were there.';

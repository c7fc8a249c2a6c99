CREATE OR REPLACE FUNCTION reject(
    agent text, memory_ids uuid[], reason text DEFAULT NULL, actor text DEFAULT session_user,
    metadata jsonb DEFAULT '{}') RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    ids uuid[];
BEGIN
    PERFORM require_note(agent, actor, metadata);
    ids := ARRAY(SELECT m.id FROM agent_memories m
                  WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
                    AND (m.status = 'pending' OR m.status = 'active' AND m.needs_review)
                  ORDER BY m.id FOR NO KEY UPDATE);
    PERFORM archive_memories(agent, ids, 'archived', '{"rule": "rejected"}', reason, actor, metadata);
    RETURN QUERY SELECT unnest(ids);
END
$function$;

COMMENT ON FUNCTION reject IS
    'Archives pending memories, and active ones with a mark for review; returns their ids.';

-- The old memory ends when the successor becomes valid, or when the successor was created if that
-- is later. So at every moment one of the two is recalled. An earlier end stays.
CREATE OR REPLACE FUNCTION mark_superseded(
    agent text, memory_id uuid, successor uuid, moment timestamptz, reason text, actor text,
    metadata jsonb) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
DECLARE
    changed_at timestamptz := now();
    ended timestamptz;
    old record;
BEGIN
    SELECT m.invalidated_at, m.invalidation_reason, m.superseded_by INTO old FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = mark_superseded.memory_id FOR NO KEY UPDATE;
    ended := least(old.invalidated_at, greatest(moment, (
        SELECT m.created_at FROM agent_memories m WHERE m.agent_id = agent AND m.id = successor)));
    UPDATE agent_memories m
       SET invalidated_at = ended, invalidation_reason = 'superseded', superseded_by = successor,
           updated_at = changed_at
     WHERE m.agent_id = agent AND m.id = mark_superseded.memory_id;
    PERFORM log_events(agent, 'superseded', ARRAY[memory_id], ARRAY[to_jsonb(old)],
        ARRAY[jsonb_build_object('invalidated_at', ended, 'invalidation_reason', 'superseded',
                                 'superseded_by', successor)], reason, actor, metadata);
END
$function$;

COMMENT ON FUNCTION mark_superseded IS
    'Invalidates a memory in favour of its successor from a moment on, and records an event.';

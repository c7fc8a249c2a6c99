-- From the moment that the successor begins to hold, or from when that was created if it is later:
-- at every moment asked about, one of the two is recalled. What had ended before stays so.
CREATE OR REPLACE FUNCTION mark_superseded(
    agent text, memory_id uuid, successor uuid, moment timestamptz, reason text, actor text,
    metadata jsonb) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    changed_at timestamptz := now();
    ended timestamptz := greatest(moment, (
        SELECT m.created_at FROM agent_memories m WHERE m.agent_id = agent AND m.id = successor));
    old agent_memories;
BEGIN
    SELECT * INTO old FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = mark_superseded.memory_id FOR NO KEY UPDATE;
    ended := least(old.invalidated_at, ended);
    UPDATE agent_memories m
       SET invalidated_at = ended, invalidation_reason = 'superseded', superseded_by = successor,
           updated_at = changed_at
     WHERE m.agent_id = agent AND m.id = old.id;
    INSERT INTO memory_events (
        agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata,
        occurred_at)
    VALUES (
        agent, old.id, event_id(), 'superseded', mark_superseded.reason, mark_superseded.actor,
        jsonb_build_object('invalidated_at', old.invalidated_at,
                           'invalidation_reason', old.invalidation_reason,
                           'superseded_by', old.superseded_by),
        jsonb_build_object('invalidated_at', ended, 'invalidation_reason', 'superseded',
                           'superseded_by', successor),
        mark_superseded.metadata, clock_timestamp());
END
$function$;

COMMENT ON FUNCTION mark_superseded IS
    'Invalidates a memory in favour of its successor from a moment on, and notes it.';

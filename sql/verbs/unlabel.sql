CREATE OR REPLACE FUNCTION unlabel(
    agent text, memory_id uuid, labels text[], kinds text[] DEFAULT '{keyword}',
    reason text DEFAULT NULL, actor text DEFAULT session_user, metadata jsonb DEFAULT '{}')
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    given record := given_labels(labels, kinds, '{1}');
    before jsonb;
    gone bigint;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_note(unlabel.reason, unlabel.actor, unlabel.metadata);
    IF given.label_values IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM lock_memories(agent, ARRAY[unlabel.memory_id]);
    before := noted_labels(agent, unlabel.memory_id, given.label_kinds, given.label_values);
    DELETE FROM memory_labels l
     USING unnest(given.label_kinds, given.label_values) g (kind, value)
     WHERE l.agent_id = agent AND l.memory_id = unlabel.memory_id
       AND l.kind = g.kind AND l.value = g.value;
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF gone > 0 THEN
        INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor,
                                   old_values, new_values, metadata, occurred_at)
        VALUES (agent, unlabel.memory_id, event_id(), 'unlabelled', unlabel.reason, unlabel.actor,
                before, '{}', unlabel.metadata, clock_timestamp());
    END IF;
    RETURN gone;
END
$function$;

COMMENT ON FUNCTION unlabel IS
    'Takes labels from a memory, by value and kind (one for all, or one for each); returns how many were there.';

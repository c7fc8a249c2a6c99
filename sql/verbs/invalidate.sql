CREATE OR REPLACE FUNCTION invalidate(
    agent text, memory_ids uuid[], reason text DEFAULT NULL, actor text DEFAULT session_user,
    metadata jsonb DEFAULT '{}') RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    ids uuid[];
    ends timestamptz[];
    reasons text[];
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_note(reason, actor, metadata);
    SELECT array_agg(l.id), array_agg(l.invalidated_at), array_agg(l.invalidation_reason)
      INTO ids, ends, reasons
      FROM (SELECT m.id, m.invalidated_at, m.invalidation_reason
              FROM agent_memories m
             WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
               AND (m.invalidated_at IS NULL OR m.invalidated_at > moment)
             ORDER BY m.id
               FOR NO KEY UPDATE) l;
    UPDATE agent_memories m
       SET invalidated_at = moment, invalidation_reason = 'forgotten', updated_at = moment
     WHERE m.agent_id = agent AND m.id = ANY (ids);
    INSERT INTO memory_events (
           agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata,
           occurred_at)
    SELECT agent, l.id, event_id(), 'forgotten', invalidate.reason, invalidate.actor,
           jsonb_build_object('invalidated_at', l.ended, 'invalidation_reason', l.why),
           jsonb_build_object('invalidated_at', moment, 'invalidation_reason', 'forgotten'),
           invalidate.metadata, clock_timestamp()
      FROM unnest(ids, ends, reasons) l(id, ended, why);
    RETURN QUERY SELECT unnest(ids);
END
$function$;

COMMENT ON FUNCTION invalidate IS
    'Forgets memories: they stay, but are not recalled from now on. Returns the ids of those that stood.';

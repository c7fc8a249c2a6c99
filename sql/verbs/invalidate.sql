CREATE OR REPLACE FUNCTION invalidate(
    agent text, memory_ids uuid[], reason text DEFAULT NULL, actor text DEFAULT session_user,
    metadata jsonb DEFAULT '{}') RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    ids uuid[];
    before jsonb[];
BEGIN
    PERFORM require_note(agent, actor, metadata);
    SELECT array_agg(l.id), array_agg(jsonb_build_object(
               'invalidated_at', l.invalidated_at, 'invalidation_reason', l.invalidation_reason))
      INTO ids, before
      FROM (SELECT m.id, m.invalidated_at, m.invalidation_reason FROM agent_memories m
             WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
               AND (m.invalidated_at IS NULL OR m.invalidated_at > moment)
             ORDER BY m.id FOR NO KEY UPDATE) l;
    UPDATE agent_memories m
       SET invalidated_at = moment, invalidation_reason = 'forgotten', updated_at = moment
     WHERE m.agent_id = agent AND m.id = ANY (ids);
    PERFORM log_events(agent, 'forgotten', ids, before,
        ARRAY[jsonb_build_object('invalidated_at', moment, 'invalidation_reason', 'forgotten')],
        reason, actor, metadata);
    RETURN QUERY SELECT unnest(ids);
END
$function$;

COMMENT ON FUNCTION invalidate IS
    'Invalidates memories: they stay, but searches no longer return them. Returns the ids of the '
    'memories that were still valid.';

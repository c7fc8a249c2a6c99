CREATE OR REPLACE FUNCTION unlink(
    agent text, source_id uuid, target_id uuid, kind text DEFAULT 'related',
    reason text DEFAULT NULL, actor text DEFAULT session_user, metadata jsonb DEFAULT '{}')
    RETURNS boolean
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    gone memory_links;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_note(unlink.reason, unlink.actor, unlink.metadata);
    PERFORM require_link(unlink.source_id, unlink.target_id, unlink.kind);
    DELETE FROM memory_links l
     WHERE l.agent_id = agent AND l.source_id = unlink.source_id
       AND l.target_id = unlink.target_id AND l.kind = unlink.kind
    RETURNING l.* INTO gone;
    IF gone.agent_id IS NULL THEN
        RETURN false;
    END IF;
    INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor,
                               old_values, new_values, metadata, occurred_at)
    VALUES (agent, gone.source_id, event_id(), 'unlinked', unlink.reason, unlink.actor,
            jsonb_build_object('target_id', gone.target_id, 'kind', gone.kind, 'weight', gone.weight),
            '{}', unlink.metadata, clock_timestamp());
    RETURN true;
END
$function$;

COMMENT ON FUNCTION unlink IS 'Takes a link between two memories away; returns whether it was there.';

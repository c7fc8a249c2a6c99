CREATE OR REPLACE FUNCTION revive(
    agent text, memory_ids uuid[], force boolean DEFAULT false, reason text DEFAULT NULL,
    actor text DEFAULT session_user, metadata jsonb DEFAULT '{}') RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    old agent_memories;
    changed agent_memories;
    other uuid;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    PERFORM lock_same(agent, '{}', memory_ids);
    FOR old IN
        SELECT m.* FROM agent_memories m
         WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
           AND (m.invalidated_at IS NOT NULL OR m.status <> 'active' OR m.expires_at <= moment)
           AND m.status <> 'pending'  -- approve is for these
         ORDER BY m.id LOOP
        changed := old;
        changed.status := 'active';
        changed.invalidated_at := NULL;
        changed.invalidation_reason := NULL;
        changed.superseded_by := NULL;
        changed.expires_at := CASE WHEN old.expires_at > moment THEN old.expires_at END;
        IF old.edition IS NOT NULL THEN
            -- Before the lookup, as in store_memories.
            IF old.status <> 'active' THEN
                changed.edition := next_edition(agent, old.content_hash);
            END IF;
            SELECT s.memory_id INTO other FROM same_memory(agent, changed) s;
            IF FOUND THEN
                RAISE EXCEPTION 'memory % cannot be revived: memory % says the same', old.id, other
                    USING ERRCODE = 'PM004';
            END IF;
        END IF;
        IF old.superseded_by IS NOT NULL AND force IS NOT TRUE THEN
            SELECT s INTO other
              FROM successors(agent, old.id, old.superseded_by, greatest(old.valid_from, moment),
                              old.valid_until) s;
            IF FOUND THEN
                RAISE EXCEPTION 'memory % cannot be revived: it was superseded, and memory % has '
                    'taken its place; supersede or invalidate that one, or revive with force to '
                    'have both', old.id, other USING ERRCODE = 'PM005';
            END IF;
        END IF;
        PERFORM write_memory(agent, changed);
        PERFORM log_change(
            'revived', old, changed,
            ARRAY['status', 'invalidated_at', 'invalidation_reason', 'superseded_by', 'expires_at'],
            reason, actor, metadata);
        RETURN NEXT old.id;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION revive IS
    'Lets searches return memories again that were invalidated, archived, completed or '
    'consolidated, or have expired, but not memories that wait for approval. Raises PM004 if '
    'another memory says the same by now and, unless force, PM005 if its successor is valid.';

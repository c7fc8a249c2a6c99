CREATE OR REPLACE FUNCTION approve(
    agent text, memory_ids uuid[], reason text DEFAULT NULL, actor text DEFAULT session_user,
    metadata jsonb DEFAULT '{}') RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    old agent_memories;
    changed agent_memories;
    other uuid;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    PERFORM lock_same(agent, '{}', memory_ids);
    FOR old IN
        SELECT m.* FROM agent_memories m
         WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
           AND (m.status = 'pending' OR m.needs_review)
         ORDER BY m.id LOOP
        changed := old;
        changed.needs_review := false;
        IF old.status = 'pending' THEN
            changed.status := 'active';
            changed.superseded_by := NULL;
        END IF;
        IF old.status = 'pending' AND old.edition IS NOT NULL THEN
            -- Before the lookup, as in store_memories.
            changed.edition := next_edition(agent, old.content_hash);
            SELECT s.memory_id INTO other FROM same_memory(agent, changed) s;
            IF FOUND THEN
                RAISE EXCEPTION 'memory % cannot be approved: memory % says the same; reject this '
                    'one, and revive that one if it is no longer recalled', old.id, other
                    USING ERRCODE = 'PM004';
            END IF;
        END IF;
        PERFORM write_memory(agent, changed);
        PERFORM log_change('approved', old, changed, ARRAY['status', 'needs_review'], reason,
                            actor, metadata);
        IF old.status = 'pending' THEN
            IF old.superseded_by IS NOT NULL THEN
                PERFORM supersede_in_turn(agent, old.id, old.superseded_by, old.valid_from,
                                          old.valid_until, actor, NULL);
            END IF;
            PERFORM supersede_successors(agent, ARRAY[old.id], actor, NULL);
        END IF;
        RETURN NEXT old.id;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION approve IS
    'Makes pending memories active, removes the mark for review, and returns the ids of the '
    'memories that this changed. Raises PM004 if an active memory says the same, even one that is '
    'no longer valid.';

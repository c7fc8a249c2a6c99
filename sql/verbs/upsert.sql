-- If others add or delete the memory between the lookup and the write, the function tries again.
CREATE OR REPLACE FUNCTION upsert(
    agent text, memory agent_memories, check_compliance boolean DEFAULT true,
    reason text DEFAULT NULL, actor text DEFAULT session_user, run text DEFAULT NULL)
    RETURNS TABLE (memory_id uuid, outcome text)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    old agent_memories;
    changed agent_memories;
    names text[];
    metadata jsonb := CASE WHEN run IS NULL THEN '{}' ELSE jsonb_build_object('run', run) END;
BEGIN
    PERFORM require(memory.key IS NOT NULL, 'upsert needs a memory with a key', 'PM001');
    memory_id := (require_incoming(agent, ARRAY[memory], 'keep', NULL, check_compliance, actor))[1];
    FOR attempt IN 1 .. 5 LOOP
        PERFORM lock_same(agent, '{}', ARRAY[upsert.memory_id]);
        -- Locked here too: it may have been added since the statement before.
        SELECT * INTO old FROM agent_memories m
         WHERE m.agent_id = agent AND m.id = upsert.memory_id FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        SELECT r.outcome INTO outcome
          FROM remember_rows(agent, ARRAY[memory], 'keep', NULL, check_compliance, actor,
                             run => run) r;
        IF outcome = 'inserted' THEN
            RETURN NEXT;
            RETURN;
        END IF;
    END LOOP;
    IF old.id IS NULL THEN
        RAISE EXCEPTION 'others keep adding and removing the memory with this key; repeat the call'
            USING ERRCODE = 'serialization_failure';
    END IF;
    -- A field without a value stays as it is, instead of becoming that of a new memory.
    IF memory.trust IS NULL THEN
        memory.trust := coalesce(old.trust, 'NaN');
        memory.trust_provenance := coalesce(memory.trust_provenance, old.trust_provenance);
        memory.trust_consensus := coalesce(memory.trust_consensus, old.trust_consensus);
        memory.trust_governance := coalesce(memory.trust_governance, old.trust_governance);
        memory.trust_usage := coalesce(memory.trust_usage, old.trust_usage);
    END IF;
    memory.trust_curve := coalesce(memory.trust_curve, old.trust_curve, 'none');
    memory.trust_half_life_hours := coalesce(
        memory.trust_half_life_hours, old.trust_half_life_hours, 'NaN');
    memory.created_at := coalesce(memory.created_at, old.created_at, '-infinity');
    memory.tier := coalesce(memory.tier, old.tier);
    SELECT * INTO changed FROM with_defaults(agent, ARRAY[memory], ARRAY[old.id], NULL);
    changed := with_learned(changed, old);
    IF changed.status = 'pending' THEN
        changed.superseded_by := old.superseded_by;  -- settled by approve
    END IF;
    names := ARRAY(
        SELECT o.key
          FROM jsonb_each(to_jsonb(old)) o
          JOIN jsonb_each(to_jsonb(changed)) n USING (key)
         WHERE o.value <> n.value
           AND o.key NOT IN ('updated_at', 'inserted_at', 'terms', 'needs_review', 'content_hash',
                            'key'));
    -- A repeated call does not withdraw an approval.
    IF names = '{}' OR names = '{status}' AND changed.status = 'pending' THEN
        outcome := 'known';
    ELSE
        outcome := 'replaced';
        PERFORM write_memory(agent, changed);
        PERFORM log_change('replaced', old, changed, array_remove(names, 'embedding'), reason,
                            actor, metadata);
        IF old.superseded_by IS NOT NULL AND changed.status = 'active' THEN
            PERFORM supersede_in_turn(agent, old.id, old.superseded_by, changed.valid_from,
                                      changed.valid_until, actor, NULL);
        END IF;
    END IF;
    RETURN NEXT;
END
$function$;

COMMENT ON FUNCTION upsert IS
    'Stores a memory made by new_memory under its key, or gives its fields to the memory that has '
    'this key. Counters, history and links stay, and so do created_at, trust, its decay and the '
    'tier unless the new memory has them. outcome: inserted, replaced, or known if nothing '
    'differs.';

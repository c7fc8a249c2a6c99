CREATE OR REPLACE FUNCTION supersede(
    agent text, memory_id uuid, new agent_memories, force boolean DEFAULT false,
    check_compliance boolean DEFAULT true, reason text DEFAULT NULL,
    actor text DEFAULT session_user, metadata jsonb DEFAULT '{}')
    RETURNS TABLE (successor uuid, outcome text, similarity float8)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    old agent_memories;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    new.id := (require_incoming(agent, ARRAY[new], 'keep', NULL, check_compliance, actor))[1];
    new.content_hash := content_hash(new.content);
    PERFORM lock_same(agent, ARRAY[new.content_hash], ARRAY[supersede.memory_id]);
    SELECT * INTO old FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = supersede.memory_id;
    PERFORM require_found(agent, supersede.memory_id, FOUND);
    IF old.superseded_by = new.id
       OR EXISTS (SELECT FROM memory_events e
                   WHERE e.agent_id = agent AND e.memory_id = old.superseded_by
                     AND e.id = new.id) THEN
        RETURN QUERY SELECT old.superseded_by, 'known', NULL::float8;
        RETURN;
    END IF;
    IF old.content_hash = new.content_hash OR old.id = new.id THEN
        RAISE EXCEPTION 'memory % says the same: there is nothing to supersede', old.id
            USING ERRCODE = 'PM001';
    ELSIF force IS NOT TRUE AND old.superseded_by IS NOT NULL THEN
        RAISE EXCEPTION 'memory % has been superseded already, by %; supersede that one, or this '
            'with force', old.id, old.superseded_by USING ERRCODE = 'PM005';
    ELSIF force IS NOT TRUE AND old.invalidated_at IS NOT NULL THEN
        RAISE EXCEPTION 'memory % was forgotten at %; revive it first, or supersede it with force',
            old.id, old.invalidated_at USING ERRCODE = 'PM005';
    END IF;
    new.subject := coalesce(new.subject, old.subject);
    SELECT * INTO successor, outcome, similarity FROM take_place(
        agent, new, ARRAY[old.id], 'keep', NULL, force, check_compliance, reason, actor, metadata);
    RETURN NEXT;
END
$function$;

COMMENT ON FUNCTION supersede IS
    'Stores a memory (made by new_memory) in the place of another, which is invalid from then on. '
    'Raises PM005 if both claim the same time, unless force.';

CREATE OR REPLACE FUNCTION take_place(
    agent text, new agent_memories, ids uuid[], duplicates text, near_duplicates float8,
    force boolean, check_compliance boolean, reason text, actor text, metadata jsonb)
    RETURNS TABLE (successor uuid, outcome text, similarity float8)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    -- Another transaction that ended in the meantime may have begun after this one.
    moment timestamptz := coalesce(new.valid_from, greatest(now(), (
        SELECT max(m.valid_from) FROM agent_memories m
         WHERE m.agent_id = agent AND m.id = ANY (ids) AND m.valid_from <= clock_timestamp())));
    old agent_memories;
    stored agent_memories;
BEGIN
    IF new.requires_approval THEN
        RAISE EXCEPTION 'a memory that requires approval cannot take the place of %: add and '
            'approve it, then supersede with the same text', ids[1] USING ERRCODE = 'PM001';
    ELSIF new.valid_until <= moment THEN
        RAISE EXCEPTION 'valid_until % must be after valid_from %', new.valid_until, moment
            USING ERRCODE = 'PM001';
    END IF;
    FOR old IN SELECT * FROM agent_memories m WHERE m.agent_id = agent AND m.id = ANY (ids)
                ORDER BY m.id LOOP
        -- A memory that is superseded twice in one transaction begins and ends at the same now().
        IF force IS NOT TRUE AND (old.valid_until > moment OR old.valid_from > moment
                                  OR old.valid_from = new.valid_from) THEN
            RAISE EXCEPTION 'memory % overlaps the new one, which holds from % on: it holds from % '
                'until %, and both cannot be right; supersede it with force if the new one is',
                old.id, moment,
                coalesce(old.valid_from::text, 'ever'), coalesce(old.valid_until::text, 'ever')
                USING ERRCODE = 'PM005';
        END IF;
        new.importance := greatest(coalesce(new.importance, 0.5), old.importance);
    END LOOP;
    SELECT s.memory_id, s.outcome, s.similarity INTO successor, outcome, similarity
      FROM store_memories(agent, ARRAY[new], duplicates, near_duplicates, check_compliance, actor,
                          metadata, ids, moment) s;
    SELECT * INTO stored FROM agent_memories m WHERE m.agent_id = agent AND m.id = successor;
    IF outcome = 'known' AND (stored.status <> 'active' OR stored.invalidated_at IS NOT NULL) THEN
        RAISE EXCEPTION 'memory % was stored before and is not recalled any longer, so it cannot '
            'take the place of %; give the new one another id or key', successor, ids[1]
            USING ERRCODE = 'PM005';
    ELSIF outcome <> 'inserted' AND stored.importance < new.importance THEN
        PERFORM set_importance(agent, successor, new.importance, reason, actor, metadata);
    END IF;
    PERFORM mark_superseded(agent, i.id, successor, moment, reason, actor, metadata)
       FROM (SELECT id FROM unnest(ids) id WHERE id <> successor ORDER BY id) i;
    RETURN NEXT;
END
$function$;

COMMENT ON FUNCTION take_place IS
    'Stores a memory in the place of locked memories that searches return. Its importance is at '
    'least theirs. Raises PM005 if both claim the same time, unless force.';

CREATE OR REPLACE FUNCTION resolve_duplicate(
    agent text, memory_id uuid, new agent_memories, duplicates text, revives boolean,
    similarity float8, actor text, superseding uuid[], metadata jsonb) RETURNS boolean
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    old agent_memories;
    changed agent_memories;
    before timestamptz;
    after timestamptz;
BEGIN
    -- The event has the id of the incoming memory, which shows that a write is repeated.
    INSERT INTO memory_events (
        agent_id, memory_id, id, event_type, actor, metadata, occurred_at)
    VALUES (
        agent, resolve_duplicate.memory_id, new.id, 'restated', resolve_duplicate.actor,
        resolve_duplicate.metadata
            || jsonb_build_object('similarity', similarity, 'created_at', new.created_at),
        clock_timestamp())
        ON CONFLICT DO NOTHING;
    IF NOT FOUND OR duplicates <> 'replace' AND NOT revives THEN
        RETURN FOUND;
    END IF;
    SELECT * INTO old FROM agent_memories m WHERE m.agent_id = agent AND m.id = resolve_duplicate.memory_id;
    changed := old;
    IF duplicates = 'replace' THEN
        changed := new;
        changed.id := old.id;
        changed.edition := CASE WHEN old.content_hash = new.content_hash THEN old.edition
                                WHEN old.edition IS NOT NULL
                                THEN next_edition(agent, new.content_hash) END;
        changed := with_learned(changed, old);
    END IF;
    changed.valid_from := new.valid_from;
    changed.valid_until := new.valid_until;
    IF old.edition IS NOT NULL AND old.content_hash = new.content_hash THEN
        -- Its validity is cut so that it does not overlap other memories of the same text and kind.
        SELECT max(least(m.valid_until, m.invalidated_at))
                   FILTER (WHERE least(m.valid_until, m.invalidated_at) <= old.valid_from),
               min(m.valid_from)
                   FILTER (WHERE m.valid_from >= least(old.valid_until, old.invalidated_at))
          INTO before, after
          FROM agent_memories m
         WHERE m.agent_id = agent AND m.content_hash = old.content_hash AND m.status = 'active'
           AND same_kind(m.memory_type, m.component, m.session, m.turn, m.created_at,
                         old.memory_type, old.component, old.session, old.turn, old.created_at)
           AND m.edition <> old.edition;
        changed.valid_from := greatest(changed.valid_from, before);
        changed.valid_until := least(changed.valid_until, after);
    END IF;
    changed.expires_at := new.expires_at;
    changed.invalidated_at := NULL;
    changed.invalidation_reason := NULL;
    changed.superseded_by := NULL;
    PERFORM write_memory(agent, changed);
    PERFORM log_change(
        CASE WHEN duplicates = 'replace' THEN 'replaced' ELSE 'revived' END, old, changed,
        CASE WHEN duplicates = 'replace'
             THEN ARRAY(SELECT name FROM jsonb_object_keys(to_jsonb(new)) name
                         WHERE name NOT IN ('agent_id', 'id', 'key', 'edition', 'embedding',
                                            'content_hash', 'terms', 'inserted_at', 'updated_at',
                                            'needs_review'))
             ELSE ARRAY['valid_from', 'valid_until', 'expires_at', 'invalidated_at',
                        'invalidation_reason', 'superseded_by'] END,
        NULL, actor, metadata);
    IF old.superseded_by IS NOT NULL THEN
        PERFORM supersede_in_turn(agent, old.id, old.superseded_by, changed.valid_from,
                                  changed.valid_until, actor, superseding);
    END IF;
    RETURN true;
END
$function$;

COMMENT ON FUNCTION resolve_duplicate IS
    'Records that a locked memory was added again, and replaces or revives it; returns false if '
    'this same write was recorded before.';

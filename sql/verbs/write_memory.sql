CREATE OR REPLACE FUNCTION write_memory(agent text, changed agent_memories) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
BEGIN
    changed.updated_at := now();
    UPDATE agent_memories m
       SET (@columns@,
            @state@)
         = ROW(@columns: changed.{}@,
               @state: changed.{}@)
     WHERE m.agent_id = agent AND m.id = changed.id;
    IF changed.entities <> '{}' OR changed.subject IS NOT NULL THEN
        PERFORM store_names(agent, changed.entities, ARRAY[changed.subject]);
    END IF;
END
$function$;

COMMENT ON FUNCTION write_memory IS
    'Writes all fields of a memory that is locked; its key, counters and history stay.';

CREATE OR REPLACE FUNCTION log_change(
    event_type text, old agent_memories, new agent_memories, names text[], reason text, actor text,
    metadata jsonb) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
DECLARE
    before jsonb;
    after jsonb;
BEGIN
    -- Vectors are not recorded, so they need not be written out as JSON.
    old.embedding := NULL;
    new.embedding := NULL;
    SELECT jsonb_object_agg(o.key, o.value), jsonb_object_agg(o.key, n.value) INTO before, after
      FROM jsonb_each(to_jsonb(old)) o JOIN jsonb_each(to_jsonb(new)) n ON n.key = o.key
     WHERE o.key = ANY (names);
    PERFORM log_events(
        old.agent_id, event_type, ARRAY[old.id], ARRAY[before], ARRAY[after], reason, actor,
        metadata);
END
$function$;

COMMENT ON FUNCTION log_change IS
    'Records an event with the old and new values of the named fields.';

CREATE OR REPLACE FUNCTION with_learned(new agent_memories, old agent_memories)
    RETURNS agent_memories
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    IF EXISTS (SELECT FROM memory_usage u
                WHERE u.agent_id = old.agent_id AND u.memory_id = old.id
                  AND u.feedback_up + u.feedback_down > 0) THEN
        new.usefulness := old.usefulness;
    END IF;
    new.needs_review := old.needs_review;
    RETURN new;
END
$function$;

COMMENT ON FUNCTION with_learned IS
    'Returns the fields of a memory that replaces another, with the usefulness and the mark for '
    'review that feedback gave the old one.';

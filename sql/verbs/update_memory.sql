CREATE OR REPLACE FUNCTION update_memory(
    agent text, memory_id uuid, changes jsonb, check_compliance boolean DEFAULT true,
    reason text DEFAULT NULL, actor text DEFAULT session_user, metadata jsonb DEFAULT '{}')
    RETURNS SETOF memory_records
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    old agent_memories;
    changed agent_memories;
    given agent_memories;
    fault text;
    other uuid;
    unknown text;
    missing text;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    PERFORM require(jsonb_typeof(changes) = 'object' AND changes <> '{}', concat(
        'update needs at least one field to change, as a JSON object, got ',
        coalesce(left(changes::text, 100), 'NULL')), 'PM001');
    PERFORM require(NOT changes ?| '{id,key}', format(
        'the %s of a memory cannot be changed', CASE WHEN changes ? 'id' THEN 'id' ELSE 'key' END),
        'PM001');
    SELECT string_agg(quote_literal(left(c.key, 100)), ', ') FILTER (WHERE f.name IS NULL),
           string_agg(c.key, ', ') FILTER (WHERE f.is_required AND c.value = 'null')
      INTO unknown, missing
      FROM jsonb_each(changes) c LEFT JOIN settable_fields() f ON f.name = c.key;
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'unknown field %; the fields are %', unknown,
            (SELECT string_agg(f.name, ', ') FROM settable_fields() f) USING ERRCODE = 'PM007';
    END IF;
    PERFORM require(missing IS NULL, missing || ' must not be null', 'PM001');
    PERFORM require(check_compliance = false OR (changes -> 'compliant' = 'false') IS NOT TRUE,
                    'the memory is not compliant; set check_compliance to false to store it anyway',
                    'PM002');
    PERFORM require(changes ? 'embedding' OR NOT changes ? 'content',
                    'new content needs an embedding of its own, or null', 'PM001');
    PERFORM require(is_blank(changes ->> 'content') IS NOT TRUE, 'content must not be blank',
                    'PM001');
    given := jsonb_populate_record(NULL::agent_memories, changes - 'embedding');
    fault := text_fault(@texts: given.{}@, given.tags, given.entities,
                        given.additional_types, given.metadata);
    PERFORM require(fault IS NULL, fault, 'PM001');
    -- Only the caller knows the tokens of a new text and the model of a new embedding.
    changes := CASE WHEN changes ? 'content' THEN '{"tokens": null}' ELSE '{}'::jsonb END
            || CASE WHEN changes ? 'embedding' THEN '{"embedding_model": null}' ELSE '{}'::jsonb END
            || changes;
    IF changes ?| ARRAY['content', 'memory_type', 'component', 'session', 'turn',
                            'created_at', 'valid_from', 'valid_until'] THEN
        PERFORM lock_same(
            agent, ARRAY[content_hash(changes ->> 'content')], ARRAY[memory_id]);
    END IF;
    SELECT * INTO old FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = update_memory.memory_id FOR NO KEY UPDATE;
    PERFORM require_found(agent, memory_id, FOUND);
    IF changes ->> 'tier' <> old.tier AND NOT changes ? 'expires_at' THEN
        changes := changes || jsonb_build_object('expires_at', expiry_of_tier(changes ->> 'tier'));
    END IF;
    changed := jsonb_populate_record(old, changes);
    changed.content_hash := content_hash(changed.content);
    IF old.edition IS NOT NULL AND old.status = 'active' THEN
        -- Before the lookup, as in store_memories.
        IF changed.content_hash <> old.content_hash THEN
            changed.edition := next_edition(agent, changed.content_hash);
        END IF;
        SELECT s.memory_id INTO other FROM same_memory(agent, changed) s;
        IF FOUND THEN
            RAISE EXCEPTION '% has an active memory of this content already: %',
                named_owner(agent), other
                USING ERRCODE = 'PM004';
        END IF;
    END IF;
    PERFORM write_memory(agent, changed);
    PERFORM log_change('updated', old, changed,
                        ARRAY(SELECT name FROM jsonb_object_keys(changes) name
                               WHERE name <> 'embedding'),
                        reason, actor, metadata);
    RETURN QUERY SELECT @record: r.{}@ FROM memory_records r
                  WHERE r.agent_id = agent AND r.id = update_memory.memory_id;
END
$function$;

COMMENT ON FUNCTION update_memory IS
    'Changes fields of a memory, such as {"importance": 0.9}, and returns it. Another tier brings '
    'its expiry, unless the changes name expires_at. Raises PM004 if another active memory would '
    'then say the same.';

CREATE OR REPLACE FUNCTION settable_fields() RETURNS TABLE (name text, is_required boolean)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN QUERY
    SELECT a.attname::text, a.attnotnull FROM pg_attribute a
     WHERE a.attrelid = 'agent_memories'::regclass AND a.attnum > 0 AND NOT a.attisdropped
       AND a.attname = ANY ('{@columns@}')
     ORDER BY a.attname;
END
$function$;

COMMENT ON FUNCTION settable_fields IS
    'Returns the fields of a memory that a caller may set, and whether each must have a value.';

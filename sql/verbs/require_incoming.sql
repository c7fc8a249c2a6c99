-- A generic plan, since planning for the values copies the whole batch several times.
CREATE OR REPLACE FUNCTION require_incoming(
    agent text, memories agent_memories[], duplicates text, near_duplicates float8,
    check_compliance boolean, actor text) RETURNS uuid[]
    LANGUAGE plpgsql SET search_path FROM CURRENT SET work_mem = '64MB'
    SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
    ids uuid[];
    place integer;
    bad agent_memories;
    fault text;
BEGIN
    PERFORM require_note(agent, actor, '{}');
    PERFORM require_one_of('duplicates', duplicates, @DUPLICATES@);
    IF near_duplicates IS NOT NULL THEN
        PERFORM require_share('near_duplicates', near_duplicates);
        PERFORM require(duplicates <> 'allow', 'near_duplicates cannot be used with duplicates '
                        '''allow'', which stores every memory');
    END IF;
    SELECT array_agg(coalesce(m.id, CASE WHEN m.key IS NULL THEN event_id()
                                         ELSE id_of_key(agent, m.key) END) ORDER BY m.ordinality),
           min(m.ordinality) FILTER (WHERE incoming_fault(
               agent, m.id, m.key, m.content, m.valid_from, m.valid_until, m.session, m.turn)
               IS NOT NULL
               OR text_fault(@texts: m.{}@, m.tags, m.entities,
                             m.additional_types, m.metadata) IS NOT NULL
               OR m.compliant = false AND check_compliance IS NOT FALSE)
      INTO ids, place
      FROM unnest((SELECT memories)) WITH ORDINALITY m;
    IF place IS NOT NULL THEN
        bad := memories[place];
        fault := coalesce(
            incoming_fault(agent, bad.id, bad.key, bad.content, bad.valid_from, bad.valid_until,
                           bad.session, bad.turn),
            text_fault(@texts: bad.{}@, bad.tags, bad.entities,
                       bad.additional_types, bad.metadata));
        RAISE EXCEPTION '%', concat(
            CASE WHEN cardinality(memories) > 1
                 THEN format('memory %s of %s: ', place - 1, cardinality(memories)) END,
            coalesce(fault, 'the memory is not compliant; set check_compliance to false to store '
                            'it anyway'))
            USING ERRCODE = CASE WHEN fault IS NULL THEN 'PM002' ELSE 'PM001' END;
    END IF;
    RETURN ids;
END
$function$;

COMMENT ON FUNCTION require_incoming IS
    'Raises an error for everything that remember_rows refuses: an invalid owner, argument or '
    'memory. Returns the ids of the memories: the caller''s, made from the key, or new.';

CREATE OR REPLACE FUNCTION incoming_fault(
    agent text, id uuid, key text, content text, valid_from timestamptz, valid_until timestamptz,
    session text, turn integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN content IS NULL OR content = '' THEN 'content must not be empty'
        WHEN is_blank(content) THEN 'content must not be blank'
        WHEN is_blank(key) OR length(key) > @MAX_NAME_LENGTH@
        THEN 'a key has 1 to @MAX_NAME_LENGTH@ characters'
        WHEN id IS NOT NULL AND key IS NOT NULL AND id <> id_of_key(agent, key)
        THEN 'give a memory an id or a key, not both'
        WHEN NOT valid_from < valid_until THEN 'valid_from must be before valid_until'
        WHEN turn IS NOT NULL AND session IS NULL
        THEN 'a turn is a place in a session: give the session too' END;

COMMENT ON FUNCTION incoming_fault IS
    'Returns the fault of a memory to store; NULL if it has none.';

CREATE OR REPLACE FUNCTION shown_fault(name text, value text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN is_blank(value) OR length(value) > @MAX_TEXT_LENGTH@
                THEN name || ' must not be blank and may have at most @MAX_TEXT_LENGTH,@ '
                     'characters' END;

COMMENT ON FUNCTION shown_fault IS
    'Returns the fault of a text of a memory; NULL if it has none.';

CREATE OR REPLACE FUNCTION text_fault(
    @texts: {} text@, tags text[], entities text[], additional_types text[],
    metadata jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(
        @texts: shown_fault('{name}', {})@,
        CASE WHEN tags || entities || additional_types <> '{}' THEN (
            SELECT min(shown_fault('a tag, entity or type', one))
              FROM unnest(tags || entities || additional_types) one) END,
        CASE WHEN greatest(cardinality(tags), cardinality(entities), cardinality(additional_types))
                  > @MAX_VALUES@
             THEN 'tags, entities and additional_types may have at most @MAX_VALUES,@ texts each'
        END,
        CASE WHEN is_deep(metadata)
             THEN 'metadata may be nested at most @MAX_DEPTH@ levels deep' END,
        CASE WHEN pg_column_size(metadata) > 2 * @MAX_METADATA@
             THEN 'metadata may have at most @MAX_METADATA,@ characters of JSON' END);

COMMENT ON FUNCTION text_fault IS
    'Returns the fault of the other texts of a memory to store; NULL if they have none.';

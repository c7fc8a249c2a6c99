-- The id of a memory with a key is made of owner and key, so it differs in the copy.
CREATE OR REPLACE FUNCTION id_in_copy(agent text, target text, memory_id uuid) RETURNS uuid
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN coalesce((SELECT id_of_key(target, m.key) FROM agent_memories m
                      WHERE m.agent_id = agent AND m.id = memory_id AND m.key IS NOT NULL),
                    memory_id);
END
$function$;

COMMENT ON FUNCTION id_in_copy IS
    'Returns the id that a memory of an owner has in a copy for another.';

-- In one transaction, so that nobody sees half of it; in parts, which take less memory.
CREATE OR REPLACE FUNCTION copy_owner(
    agent text, target text, with_events boolean DEFAULT true, actor text DEFAULT session_user)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
DECLARE
    after uuid := '00000000-0000-0000-0000-000000000000';
    ids uuid[];
    rows agent_memories[];
    states jsonb[];
    copied bigint := 0;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_note(target, actor, '{}');
    PERFORM require(agent <> target, format('%s cannot be copied to itself', named_owner(agent)));
    LOOP
        ids := ARRAY(SELECT n FROM next_exported(agent, after, 1000, 10000000) n);
        EXIT WHEN ids = '{}';
        SELECT array_agg(jsonb_populate_record(m, jsonb_build_object(
                   'id', CASE WHEN m.key IS NULL THEN m.id END,
                   'superseded_by', id_in_copy(agent, target, m.superseded_by))) ORDER BY m.id),
               array_agg(told.state || jsonb_build_object('links', (
                   SELECT coalesce(jsonb_agg(l || jsonb_build_object('target_id', id_in_copy(
                              agent, target, (l ->> 'target_id')::uuid))), '[]')
                     FROM jsonb_array_elements(told.state -> 'links') l)) ORDER BY m.id)
          INTO rows, states
          FROM agent_memories m,
               LATERAL (SELECT exported(agent, m.id, with_events)::jsonb - 'embedding'
                               AS state OFFSET 0) told
         WHERE m.agent_id = agent AND m.id = ANY (ids);
        copied := copied + (SELECT count(*) FROM restore_rows(target, rows, states, false, actor) r
                             WHERE r.outcome = 'inserted');
        after := ids[cardinality(ids)];
    END LOOP;
    INSERT INTO entity_names (agent_id, word, name, kind, entity)
    SELECT target, n.word, n.name, n.kind, n.entity FROM entity_names n
     WHERE n.agent_id = agent AND n.kind = 'alias'
        ON CONFLICT DO NOTHING;
    RETURN copied;
END
$function$;

COMMENT ON FUNCTION copy_owner IS
    'Copies the memories of an owner to another, with the same ids, but for those of keys, and all '
    'that belongs to them: '
    'counters, links, aliases of names and, with_events, history. Leaves out what the '
    'other has. Returns the number of memories copied.';

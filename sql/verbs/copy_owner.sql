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
        SELECT array_agg(m ORDER BY m.id),
               array_agg(exported(agent, m.id, with_events)::jsonb - 'embedding' ORDER BY m.id)
          INTO rows, states
          FROM agent_memories m WHERE m.agent_id = agent AND m.id = ANY (ids);
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
    'Copies the memories of an owner to another, with the same ids and all that belongs to them: '
    'counters, labels, links, aliases of names and, with_events, history. Leaves out what the '
    'other has. Returns the number of memories copied.';

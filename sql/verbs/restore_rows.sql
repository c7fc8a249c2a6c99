-- Each memory is identified by its id alone. A field of `memories` that is NULL gets its default,
-- as in new_memory; `states` has the rows of other tables: the counters, links and events.
-- A line of an export serves for it as it is. The constraints of the tables check every value.
-- Memories that exist stay as they are, with all that belongs to them, so a call can be repeated.
CREATE OR REPLACE FUNCTION restore_rows(
    agent text, memories agent_memories[], states jsonb[], check_compliance boolean DEFAULT true,
    actor text DEFAULT session_user)
    RETURNS TABLE (ordinal integer, memory_id uuid, outcome text)
    LANGUAGE plpgsql SET search_path FROM CURRENT SET work_mem = '64MB'
AS $function$
#variable_conflict use_column
DECLARE
    ids uuid[] := require_incoming(agent, memories, 'keep', NULL, check_compliance, actor);
    stored uuid[] := '{}';
    trusts jsonb[] := '{}';
    restored jsonb;
    gone uuid[];
    one record;
BEGIN
    PERFORM require(cardinality(states) = coalesce(cardinality(memories), 0), format(
        'states must have one element for each of the %s memories, got %s',
        coalesce(cardinality(memories), 0), coalesce(cardinality(states)::text, 'NULL')));
    PERFORM require(i.many = 1, format('memory %s is given twice', i.id), 'PM001')
       FROM (SELECT id, count(*) AS many FROM unnest(ids) id GROUP BY id) i;
    -- In the order of the hashes, as in insert_memories, so that two writers cannot deadlock.
    FOR one IN
        INSERT INTO agent_memories AS i (
            agent_id, id, key, usefulness, @columns but usefulness@,
            @state@)
        SELECT agent, m.id, m.key,
               -- Votes without their mean get the mean that they would have led to here.
               CASE WHEN was.usefulness IS NULL
                    THEN usefulness_after_feedback(
                             m.usefulness, 0, 0,
                             greatest((states[was.place] ->> 'feedback_up')::integer, 0),
                             greatest((states[was.place] ->> 'feedback_down')::integer, 0))
                    ELSE m.usefulness END,
               @columns but usefulness: m.{}@,
               @state: coalesce(was.{}, m.{})@
          FROM with_defaults(agent, memories, ids, NULL) m
         CROSS JOIN LATERAL (SELECT date_part('epoch', m.inserted_at)::integer AS place) at
         CROSS JOIN LATERAL (SELECT at.place, (memories[at.place]).*) was
         ORDER BY m.content_hash, m.id
            ON CONFLICT DO NOTHING
        RETURNING i.id, i.trust, i.trust_provenance AS provenance, i.trust_consensus AS consensus,
                  i.trust_governance AS governance, i.trust_usage AS usage LOOP
        stored := stored || one.id;
        trusts := trusts || trust_parts(
            one.trust, one.provenance, one.consensus, one.governance, one.usage);
    END LOOP;

    SELECT jsonb_agg(s.state || jsonb_build_object('memory_id', s.id)) INTO restored
      FROM unnest(ids, states) s(id, state) JOIN unnest(stored) new(id) ON new.id = s.id;
    INSERT INTO memory_usage AS c (agent_id, memory_id, @usage@)
    SELECT agent, u.memory_id, @usage: {read}@
      FROM jsonb_populate_recordset(NULL::memory_usage, restored) u
     WHERE u.last_accessed_at IS NOT NULL OR coalesce(@counters: nullif(u.{}, 0)@) IS NOT NULL
     ORDER BY u.memory_id
        -- Counters of a memory that was deleted, which maintenance had not yet removed.
        ON CONFLICT (agent_id, memory_id) DO UPDATE
       SET (@usage@) = ROW(@usage: excluded.{}@);
    INSERT INTO memory_links (agent_id, source_id, target_id, kind, weight)
    SELECT agent, s.memory_id, l.target_id, coalesce(l.kind, 'related'),
           storable_share(coalesce(l.weight, 1))
      FROM jsonb_to_recordset(restored) s(memory_id uuid, links jsonb)
     CROSS JOIN LATERAL jsonb_to_recordset(s.links)
                        l(target_id uuid, kind text, weight float8)
        ON CONFLICT DO NOTHING;
    INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values,
                               new_values, metadata, occurred_at)
    SELECT agent, s.memory_id, coalesce(e.id, event_id()), e.event_type, e.reason, e.actor,
           e.old_values, e.new_values, coalesce(e.metadata, '{}'),
           coalesce(e.occurred_at, clock_timestamp())
      FROM jsonb_to_recordset(restored) s(memory_id uuid, events jsonb)
     CROSS JOIN LATERAL jsonb_to_recordset(s.events)
                        e(id uuid, event_type text, reason text, actor text, old_values jsonb,
                          new_values jsonb, metadata jsonb, occurred_at timestamptz)
        ON CONFLICT DO NOTHING;
    -- A memory that brings no history begins one; log_events leaves out the others.
    PERFORM log_events(agent, 'initial', ARRAY(
        SELECT CASE WHEN (n.id IN (SELECT s.id FROM unnest(ids, states) s(id, state)
                                    WHERE s.state -> 'events' NOT IN ('[]', 'null'))) IS NOT TRUE
                    THEN n.id END
          FROM unnest(stored) WITH ORDINALITY n(id, place) ORDER BY n.place),
        '{}', trusts, NULL, actor, '{}');

    IF stored <> '{}' THEN
        PERFORM note_written(agent, memories);
    END IF;
    gone := gone_memories(agent, ids);
    RETURN QUERY
    SELECT i.place::integer, i.id,
           CASE WHEN new.id IS NOT NULL THEN 'inserted'
                WHEN i.id NOT IN (SELECT g FROM unnest(gone) g) THEN 'known'
                ELSE 'duplicate' END
      FROM unnest(ids) WITH ORDINALITY i(id, place)
      LEFT JOIN unnest(stored) new(id) ON new.id = i.id;
END
$function$;

COMMENT ON FUNCTION restore_rows IS
    'Stores memories with their state: status, counters, links and events. outcome: '
    'inserted, known (this id exists; nothing changes) or duplicate (an active memory has its text '
    'and edition).';

-- For readers.
-- UTC and shortest exact numbers, whatever the session has set, so that what is read back is the
-- same.
CREATE OR REPLACE FUNCTION exported(
    agent text, memory_id uuid, with_events boolean DEFAULT false) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET TimeZone = 'UTC'
    SET extra_float_digits = 1 AS $function$
#variable_conflict use_column
DECLARE
    m agent_memories;
    u memory_usage;
    line text;
BEGIN
    SELECT * INTO m FROM agent_memories a WHERE a.agent_id = agent AND a.id = exported.memory_id;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT * INTO u FROM memory_usage c
     WHERE c.agent_id = agent AND c.memory_id = exported.memory_id;
    SELECT row_to_json(r)::text INTO line FROM (SELECT
        CASE WHEN NOT starts_with(m.agent_id, 'team:') THEN m.agent_id END AS agent_id,
        CASE WHEN starts_with(m.agent_id, 'team:') THEN substr(m.agent_id, 6) END AS team_id,
        @memory but embedding, embedding_model: {read}@,
        m.edition,
        coalesce((SELECT json_agg(json_build_object('target_id', l.target_id, 'kind', l.kind,
                                                    'weight', l.weight)
                                  ORDER BY l.target_id, l.kind)
                    FROM memory_links l
                   WHERE l.agent_id = agent AND l.source_id = exported.memory_id), '[]') AS links,
        CASE WHEN with_events THEN coalesce((
            SELECT json_agg(json_build_object(
                       'id', e.id, 'event_type', e.event_type, 'reason', e.reason,
                       'actor', e.actor, 'old_values', e.old_values, 'new_values', e.new_values,
                       'metadata', e.metadata, 'occurred_at', e.occurred_at)
                       ORDER BY e.occurred_at, e.id)
              FROM memory_events e
             WHERE e.agent_id = agent AND e.memory_id = exported.memory_id), '[]') END AS events,
        m.embedding_model, m.embedding::text::json AS embedding) r;
    RETURN line;
END
$function$;

COMMENT ON FUNCTION exported IS
    'A memory of an owner with its counters and links from it, with_events also its '
    'history, as a line of JSON that pgrecall import reads; NULL where there is none.';

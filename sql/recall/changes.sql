-- For readers.
-- What was stored first has its event found by the memory, which has an index of that time.
CREATE OR REPLACE FUNCTION changes_of(
    agent text, since timestamptz, by_actor text, most integer) RETURNS SETOF memory_events
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN QUERY
    SELECT e.* FROM memory_events e
     WHERE e.agent_id = agent AND e.event_type <> 'initial' AND e.occurred_at >= since
       AND (by_actor IS NULL OR e.actor = by_actor)
     ORDER BY e.occurred_at DESC LIMIT most;
    RETURN QUERY
    SELECT e.*
      FROM (SELECT m.id FROM agent_memories m
             WHERE m.agent_id = agent AND m.inserted_at >= since
             ORDER BY m.inserted_at DESC) stored,
           LATERAL (SELECT i.* FROM memory_events i
                     WHERE i.agent_id = agent AND i.memory_id = stored.id
                       AND i.event_type = 'initial'
                       AND (by_actor IS NULL OR i.actor = by_actor) OFFSET 0) e
     LIMIT most;
END
$function$;

COMMENT ON FUNCTION changes_of IS
    'Returns the events of an owner since a moment, at most so many of first storing and of the '
    'rest; by_actor: only those of this actor.';

CREATE OR REPLACE FUNCTION changes(
    since timestamptz DEFAULT now() - interval '1 day', agent text DEFAULT NULL,
    by_actor text DEFAULT NULL, most integer DEFAULT 100, of_teams boolean DEFAULT NULL)
    RETURNS TABLE (
        agent_id text, memory_id uuid, content text, id uuid, occurred_at timestamptz,
        event_type text, reason text, actor text, old_values jsonb, new_values jsonb,
        metadata jsonb)
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    IF agent IS NOT NULL THEN
        PERFORM require_owner(agent);
    END IF;
    PERFORM require_count('most', most, 1, 1000000);
    RETURN QUERY
    SELECT e.agent_id, e.memory_id,
           (SELECT left(m.content, 200) FROM agent_memories m
             WHERE m.agent_id = e.agent_id AND m.id = e.memory_id),
           e.id, e.occurred_at, e.event_type, e.reason, e.actor,
           coalesce(e.old_values, '{}'), coalesce(e.new_values, '{}'), e.metadata
      FROM (SELECT c.*
              FROM (SELECT agent AS id WHERE agent IS NOT NULL
                    UNION ALL
                    SELECT o.agent_id FROM owners_of_memories(true) o
                     WHERE agent IS NULL
                       AND (of_teams IS NULL OR starts_with(o.agent_id, 'team:') = of_teams)) o,
                   LATERAL changes_of(o.id, since, by_actor, most) c
             ORDER BY c.occurred_at DESC, c.id DESC LIMIT most) e
     ORDER BY e.occurred_at DESC, e.id DESC;
END
$function$;

COMMENT ON FUNCTION changes IS
    'Returns what changed since a moment, by default in the last day, newest first: the events of '
    'one owner or of all, with the beginning of the text. by_actor: only what this actor did.';

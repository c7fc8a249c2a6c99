-- For readers.
-- Without sorting, each order forces the index of that time. With OFFSET 0 the rest is looked up by
-- its key: joins might read all of an owner. What was stored first has its event found by the
-- memory, which has an index of that time.
CREATE OR REPLACE FUNCTION changes_of(
    agent text, since timestamptz, by_actor text, most integer)
    RETURNS TABLE (
        agent_id text, memory_id uuid, content text, id uuid, occurred_at timestamptz,
        event_type text, reason text, actor text, old_values jsonb, new_values jsonb,
        metadata jsonb)
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path FROM CURRENT SET enable_sort = off
AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT e.agent_id, e.memory_id, left(m.content, 200), e.id, e.occurred_at, e.event_type,
           e.reason, e.actor, coalesce(e.old_values, '{}'), coalesce(e.new_values, '{}'),
           e.metadata
      FROM (SELECT c.* FROM memory_events c
             WHERE c.agent_id = agent AND c.event_type <> 'initial' AND c.occurred_at >= since
               AND (by_actor IS NULL OR c.actor = by_actor)
             ORDER BY c.occurred_at DESC LIMIT most) e
      LEFT JOIN LATERAL (
           SELECT s.content FROM agent_memories s
            WHERE s.agent_id = agent AND s.id = e.memory_id OFFSET 0) m ON true;
    RETURN QUERY
    SELECT e.agent_id, e.memory_id, m.content, e.id, e.occurred_at, e.event_type, e.reason,
           e.actor, coalesce(e.old_values, '{}'), coalesce(e.new_values, '{}'), e.metadata
      FROM (SELECT s.id, s.inserted_at, left(s.content, 200) AS content FROM agent_memories s
             WHERE s.agent_id = agent AND s.inserted_at >= since
             ORDER BY s.inserted_at DESC OFFSET 0) m
     CROSS JOIN LATERAL (
           SELECT i.* FROM memory_events i
            WHERE i.agent_id = agent AND i.memory_id = m.id AND i.event_type = 'initial'
              AND i.occurred_at >= since AND (by_actor IS NULL OR i.actor = by_actor)
           OFFSET 0) e
     ORDER BY m.inserted_at DESC LIMIT most;
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
    PERFORM require_count('most', most, 1, 1000000);
    PERFORM require(since IS NOT NULL, 'since must be a moment, got NULL');
    IF agent IS NOT NULL THEN
        PERFORM require_owner(agent);
        RETURN QUERY
        SELECT c.* FROM changes_of(agent, since, by_actor, most) c
         ORDER BY c.occurred_at DESC, c.id DESC LIMIT most;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT c.*
      FROM owners_of_memories(true) o, LATERAL changes_of(o.agent_id, since, by_actor, most) c
     WHERE of_teams IS NULL OR starts_with(o.agent_id, 'team:') = of_teams
     ORDER BY c.occurred_at DESC, c.id DESC LIMIT most;
END
$function$;

COMMENT ON FUNCTION changes IS
    'Returns what changed since a moment, by default in the last day, newest first: the events of '
    'one owner or of all, with the beginning of the text. by_actor: only what this actor did.';

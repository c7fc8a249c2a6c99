-- For readers.
-- What may be due is told by indexes and counters: expiry by an index of its own, old events by
-- that of their time. Of owners without a rank index, memories are counted up to at_least. Only
-- rules of trust, age and number read all memories, and only if they are asked for. `seconds` is
-- what it might take: builds as long as the last one, or a millisecond for each memory.
CREATE OR REPLACE FUNCTION upkeep_due(
    agent text DEFAULT NULL, at_least bigint DEFAULT 5000,
    min_trust_threshold float8 DEFAULT NULL, max_age_hours float8 DEFAULT NULL,
    delete_threshold float8 DEFAULT NULL, max_live bigint DEFAULT NULL,
    max_event_age_hours float8 DEFAULT NULL, max_run_age_hours float8 DEFAULT NULL)
    RETURNS TABLE (task text, name text, why text, seconds float8)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    oldest timestamptz := now() - max_age_hours * interval '1 hour';
    judges boolean := num_nonnulls(min_trust_threshold, max_age_hours, delete_threshold,
                                   max_live) > 0;
    owners text[] := ARRAY[agent];
    expired bigint;
    live bigint;
    before timestamptz;
BEGIN
    PERFORM require_count('at_least', at_least, 1, 2147483647);
    IF agent IS NOT NULL THEN
        PERFORM require_owner(agent);
    END IF;
    PERFORM require_garbage_policy(
        min_trust_threshold, max_age_hours, delete_threshold, max_live, max_event_age_hours,
        max_run_age_hours, 'upkeep');
    task := 'garbage';
    IF agent IS NULL THEN
        owners := ARRAY(
            SELECT o.agent_id FROM owners_of_memories(max_event_age_hours IS NOT NULL) o);
    END IF;
    FOREACH name IN ARRAY owners LOOP
        IF judges THEN
            SELECT count(*) FILTER (WHERE judged.rule IS NOT NULL), count(*) INTO expired, live
              FROM (SELECT garbage_rule(m.trust, m.expires_at, m.created_at, now(),
                                        min_trust_threshold, oldest, delete_threshold) AS rule
                      FROM agent_memories m
                     WHERE m.agent_id = upkeep_due.name AND m.status <> 'archived') judged;
            expired := greatest(expired, live - max_live);
        ELSE
            expired := (SELECT count(*) FROM agent_memories m
                         WHERE m.agent_id = upkeep_due.name AND m.status <> 'archived'
                           AND m.expires_at <= now());
        END IF;
        before := events_expire_before(name, max_event_age_hours);
        IF expired > 0 THEN
            why := 'to archive or delete: ' || to_char(expired, 'FM999,999,999,999');
        ELSIF EXISTS (SELECT FROM memory_events e
                       WHERE e.agent_id = upkeep_due.name AND e.event_type <> 'initial'
                         AND e.occurred_at < before) THEN
            why := 'events before ' || before;
        ELSE
            CONTINUE;
        END IF;
        seconds := greatest(expired, 1) * 0.001;
        RETURN NEXT;
    END LOOP;
    RETURN QUERY
    SELECT 'statistics', t.name, t.stale, 1::float8 FROM table_states() t
     WHERE agent IS NULL AND t.stale IS NOT NULL;
    RETURN QUERY
    SELECT CASE WHEN s.shrunk THEN 'drop index' WHEN s.due IS NOT NULL THEN 'build index'
                ELSE 'place' END,
           s.agent_id,
           CASE WHEN s.shrunk THEN 'has shrunk' WHEN s.due IS NOT NULL THEN s.due
                ELSE to_char(s.written + s.changed, 'FM999,999,999,999')
                     || ' memories written or changed since' END,
           CASE WHEN s.shrunk THEN 0.1
                WHEN s.due IS NOT NULL THEN coalesce(s.seconds, 0.001 * s.memories)
                ELSE 0.0005 * (s.written + s.changed) END
      FROM rank_index_states(agent, at_least) s
     WHERE s.shrunk
        OR (s.due IS NOT NULL OR s.written + s.changed > 0) AND hnsw_state() <> 'refused';
END
$function$;

COMMENT ON FUNCTION upkeep_due IS
    'Returns what upkeep would do with these arguments: the task, the owner or table, '
    'the reason, and about how many seconds it takes.';

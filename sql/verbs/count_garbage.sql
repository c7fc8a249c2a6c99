-- For maintainers.
CREATE OR REPLACE FUNCTION count_garbage(
    agent text, min_trust_threshold float8 DEFAULT 0.2, max_age_hours float8 DEFAULT 720,
    delete_threshold float8 DEFAULT 0.1, max_live bigint DEFAULT NULL,
    max_event_age_hours float8 DEFAULT NULL, max_run_age_hours float8 DEFAULT NULL)
    RETURNS TABLE (
        scanned bigint, archived bigint, deleted bigint, swept bigint, events bigint, runs bigint)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
DECLARE
    oldest timestamptz;
    live bigint;
    gone uuid[];
    before timestamptz := events_expire_before(agent, max_event_age_hours);
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_garbage_policy(
        min_trust_threshold, max_age_hours, delete_threshold, max_live, max_event_age_hours,
        max_run_age_hours, 'default');
    oldest := now() - max_age_hours * interval '1 hour';
    SELECT count(*), count(*) FILTER (WHERE judged.rule <> 'delete'),
           count(*) FILTER (WHERE judged.rule = 'delete')
      INTO live, archived, deleted
      FROM (SELECT garbage_rule(m.trust, m.expires_at, m.created_at,
                                now(), min_trust_threshold, oldest, delete_threshold) AS rule
              FROM agent_memories m
             WHERE m.agent_id = agent AND m.status <> 'archived') judged;
    scanned := CASE WHEN num_nonnulls(min_trust_threshold, oldest, delete_threshold) = 0
                    THEN archived ELSE live END;
    archived := archived + greatest(live - archived - deleted - max_live, 0);
    gone := orphaned(agent);
    swept := (SELECT count(*) FROM memory_usage u
               WHERE u.agent_id = agent AND u.memory_id = ANY (gone))
           + (SELECT count(*) FROM memory_links l
               WHERE l.agent_id = agent AND (l.source_id = ANY (gone) OR l.target_id = ANY (gone)));
    events := (SELECT count(*) FROM memory_events e
                WHERE e.agent_id = agent AND e.event_type <> 'initial' AND e.occurred_at < before)
            + (SELECT count(*) FROM memory_events e
                WHERE e.agent_id = agent AND e.event_type = 'initial' AND e.occurred_at < before
                  AND e.memory_id = ANY (gone_memories(agent, ARRAY(
                      SELECT d.memory_id FROM memory_events d
                       WHERE d.agent_id = agent AND d.event_type = 'deleted'
                         AND d.occurred_at < before))));
    runs := count_runs(agent, max_run_age_hours);
    RETURN NEXT;
END
$verb$;

COMMENT ON FUNCTION count_garbage IS
    'Returns the numbers that a garbage collection would report for an owner, without any change.';

CREATE OR REPLACE FUNCTION count_runs(agent text, max_run_age_hours float8) RETURNS bigint
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
BEGIN
    RETURN (SELECT count(*) FROM gc_runs r
             WHERE r.agent_id = coalesce(agent, '')
               AND r.started_at < now() - max_run_age_hours * interval '1 hour');
END
$function$;

COMMENT ON FUNCTION count_runs IS
    'Returns the number of garbage collections of an owner in gc_runs that are older than this; '
    'NULL as agent means those of all owners.';

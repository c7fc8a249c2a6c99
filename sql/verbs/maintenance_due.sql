-- For readers.
CREATE OR REPLACE FUNCTION _require_policy(policy jsonb) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $check$
DECLARE
    known CONSTANT text[] := '{name,min_trust_threshold,max_age_hours,delete_threshold,max_live,'
                             'stale_tasks_after,max_event_age_hours,max_run_age_hours}';
    rule record;
BEGIN
    PERFORM require(jsonb_typeof(policy) = 'object', 'policy must be a JSON object of rules');
    FOR rule IN
        SELECT r.key, r.value #>> '{}' AS told, jsonb_typeof(r.value) AS kind
          FROM jsonb_each(jsonb_strip_nulls(policy)) r LOOP
        PERFORM require_one_of('rule of a policy', rule.key, known);
        IF rule.key = 'name' THEN
            PERFORM require(rule.kind = 'string' AND rule.told <> ''
                            AND length(rule.told) <= @MAX_NAME_LENGTH@,
                            'name must have 1 to @MAX_NAME_LENGTH@ characters');
        ELSIF rule.key = 'stale_tasks_after' THEN
            PERFORM require(rule.kind = 'string', 'stale_tasks_after must be text, like "7 days"'),
                    require_duration(rule.key, rule.told::interval);
        ELSE
            PERFORM require(rule.kind = 'number' AND (rule.key <> 'max_live' OR rule.told !~ '\.'),
                            rule.key || ' must be a number'),
                    require(rule.told::numeric BETWEEN l.least AND l.most, format(
                        '%s must lie within %s and %s, got %s', rule.key, l.least, l.most,
                        left(rule.told, 60)))
               FROM (VALUES ('min_trust_threshold', 0, 1), ('delete_threshold', 0, 1),
                            ('max_live', 0, 9007199254740992),
                            ('max_age_hours', 0, @LONGEST_HOURS@),
                            ('max_event_age_hours', @LEAST_AGE@, @LONGEST_HOURS@),
                            ('max_run_age_hours', @LEAST_AGE@, @LONGEST_HOURS@)
                    ) l(rule, least, most)
              WHERE l.rule = rule.key;
        END IF;
    END LOOP;
END
$check$;

COMMENT ON FUNCTION _require_policy IS
    'Raises an error for an invalid retention policy. A rule that is absent or null is off.';

-- PostgreSQL inlines it. A rule does not apply to a memory that lacks the trust or the time it
-- judges by. last_accessed_at is asked for last, and only of tasks.
CREATE OR REPLACE FUNCTION _retention_rule(
    trust float8, expires_at timestamptz, created_at timestamptz, status text, kinds text[],
    last_accessed_at timestamptz, policy jsonb, moment timestamptz) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN trust < (policy ->> 'delete_threshold')::float8 THEN 'delete_threshold'
                WHEN expires_at <= moment THEN 'expires_at'
                WHEN trust < (policy ->> 'min_trust_threshold')::float8 THEN 'min_trust_threshold'
                WHEN created_at < moment
                     - (policy ->> 'max_age_hours')::float8 * interval '1 hour'
                THEN 'max_age_hours'
                WHEN status = 'active' AND 'task' = ANY (kinds)
                     AND created_at < moment - (policy ->> 'stale_tasks_after')::interval
                     AND coalesce(last_accessed_at, '-infinity')
                         < moment - (policy ->> 'stale_tasks_after')::interval
                THEN 'stale_tasks_after' END;

COMMENT ON FUNCTION _retention_rule IS
    'Returns the rule of a policy that applies to a live memory: delete_threshold deletes it, '
    'stale_tasks_after completes it, the others archive it. NULL if it stays.';

-- Only the key gives this order without a sort, and only the index of expiry the other. Without
-- statistics, PostgreSQL would read and sort all that is left of the agent for every batch.
CREATE OR REPLACE FUNCTION _next_judged(
    agent text, policy jsonb, after uuid DEFAULT NULL, many integer DEFAULT NULL)
    RETURNS TABLE (id uuid, rule text)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET enable_sort = off
    SET plan_cache_mode = force_custom_plan AS $function$
#variable_conflict use_column
DECLARE
    nil CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    last timestamptz;
BEGIN
    IF NOT jsonb_strip_nulls(policy) ?| '{min_trust_threshold,max_age_hours,delete_threshold,'
                                        'stale_tasks_after}' THEN
        last := (SELECT m.expires_at FROM agent_memories m
                  WHERE m.agent_id = agent AND m.id = after);
        RETURN QUERY
        SELECT m.id, 'expires_at' FROM agent_memories m
         WHERE m.agent_id = agent AND m.status <> 'archived' AND m.expires_at <= now()
           AND (m.expires_at, m.id) > (coalesce(last, '-infinity'), coalesce(after, nil))
         ORDER BY m.expires_at, m.id LIMIT many;
        RETURN;
    END IF;
    -- Two conditions on the id, since OR would keep the key from being used.
    RETURN QUERY
    SELECT m.id, _retention_rule(
               m.trust, m.expires_at, m.created_at, m.status, m.additional_types || m.memory_type,
               (SELECT u.last_accessed_at FROM memory_usage u
                 WHERE u.agent_id = agent AND u.memory_id = m.id), policy, now())
      FROM agent_memories m
     WHERE m.agent_id = agent AND m.status <> 'archived'
       AND m.id >= coalesce(after, nil) AND m.id IS DISTINCT FROM after
     ORDER BY m.id LIMIT many;
END
$function$;

COMMENT ON FUNCTION _next_judged IS
    'Returns the next live memories of an agent after this one, in the order of ids, and the rule '
    'of a policy that applies to each. If the policy has no rule of trust, age or tasks, returns '
    'only memories that have expired, in that order.';

CREATE OR REPLACE FUNCTION _old_runs(agent text, policy jsonb) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    age float8 := policy ->> 'max_run_age_hours';
BEGIN
    RETURN CASE WHEN age IS NULL THEN '{}' ELSE ARRAY(
        SELECT r.id FROM maintenance_runs r
         WHERE (agent IS NULL OR r.agent_id = agent)
           AND r.started_at < now() - age * interval '1 hour') END;
END
$function$;

COMMENT ON FUNCTION _old_runs IS
    'Returns the earlier runs of maintenance, of an agent or all, that are older than the policy '
    'allows.';

-- A search through a rank index reads the memories that have changed since the index placed its
-- own, so events since then stay. A build that is under way is younger than the least age of a
-- policy.
CREATE OR REPLACE FUNCTION _events_expire_before(agent text, policy jsonb) RETURNS timestamptz
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    age float8 := policy ->> 'max_event_age_hours';
BEGIN
    IF age IS NOT NULL THEN
        RETURN least(now() - age * interval '1 hour',
                     (SELECT r.written_until FROM rank_indexes r WHERE r.agent_id = agent));
    END IF;
    RETURN NULL;
END
$function$;

COMMENT ON FUNCTION _events_expire_before IS
    'Returns the moment before which events of an agent are older than the policy allows; NULL if '
    'it has no limit.';

-- EXCEPT reads each table once. An anti-join may compare all rows of the agent with each other. A
-- plan that is kept may read the memories by their key, one page for each.
CREATE OR REPLACE FUNCTION _orphaned(agent text) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT
    SET plan_cache_mode = force_custom_plan AS $function$
BEGIN
    RETURN ARRAY(
        (SELECT u.memory_id FROM memory_usage u WHERE u.agent_id = agent
          UNION ALL
         SELECT l.source_id FROM memory_links l WHERE l.agent_id = agent
          UNION ALL
         SELECT l.target_id FROM memory_links l WHERE l.agent_id = agent)
        EXCEPT
        SELECT m.id FROM agent_memories m WHERE m.agent_id = agent);
END
$function$;

COMMENT ON FUNCTION _orphaned IS
    'Returns the ids of deleted memories that counters or links of an agent still name.';

CREATE OR REPLACE FUNCTION _retention_due(agent text, policy jsonb, orphaned boolean)
    RETURNS TABLE (
        scanned bigint, archived bigint, deleted bigint, completed bigint, orphans bigint,
        events bigint)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT
    SET plan_cache_mode = force_custom_plan AS $function$
#variable_conflict use_column
DECLARE
    max_live bigint := policy ->> 'max_live';
    before timestamptz := _events_expire_before(agent, policy);
    gone uuid[];
BEGIN
    SELECT count(*), count(*) FILTER (WHERE j.rule = 'delete_threshold'),
           count(*) FILTER (WHERE j.rule = 'stale_tasks_after'), count(j.rule)
      INTO scanned, deleted, completed, archived
      FROM _next_judged(agent, policy) j;
    archived := archived - deleted - completed;
    IF max_live IS NOT NULL THEN
        archived := archived + greatest(0, (
            SELECT count(*) FROM agent_memories m
             WHERE m.agent_id = agent AND m.status <> 'archived') - archived - deleted - max_live);
    END IF;
    orphans := 0;
    gone := CASE WHEN orphaned THEN _orphaned(agent) ELSE '{}' END;
    IF gone <> '{}' THEN
        orphans := (SELECT count(*) FROM memory_usage u
                     WHERE u.agent_id = agent AND u.memory_id = ANY (gone))
                 + (SELECT count(*) FROM memory_links l
                     WHERE l.agent_id = agent
                       AND (l.source_id = ANY (gone) OR l.target_id = ANY (gone)));
    END IF;
    events := 0;
    IF before IS NOT NULL THEN
        events := (SELECT count(*) FROM memory_events e
                    WHERE e.agent_id = agent AND e.event_type <> 'initial'
                      AND e.occurred_at < before)
                + (SELECT count(*) FROM memory_events e
                    WHERE e.agent_id = agent AND e.event_type = 'initial'
                      AND e.occurred_at < before
                      AND e.memory_id = ANY (gone_memories(agent, ARRAY(
                          SELECT d.memory_id FROM memory_events d
                           WHERE d.agent_id = agent AND d.event_type = 'deleted'
                             AND d.occurred_at < before))));
    END IF;
    RETURN NEXT;
END
$function$;

COMMENT ON FUNCTION _retention_due IS
    'Returns what a policy would do with the memories of an agent, in numbers, without any change.';

-- Expired memories and old events are found by their indexes. Memories of agents without a rank
-- index are counted up to at_least. Only rules of trust, age, tasks and number read all memories.
-- `seconds` is an estimate: that of the last build, or a millisecond for each memory.
CREATE OR REPLACE FUNCTION _maintenance_due(
    agent text DEFAULT NULL, policy jsonb DEFAULT '{}', at_least bigint DEFAULT 5000,
    orphaned boolean DEFAULT true)
    RETURNS TABLE (task text, name text, why text, seconds float8, counts jsonb)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    runs bigint;
BEGIN
    PERFORM require_count('at_least', at_least, 1, 2147483647), _require_policy(policy);
    IF agent IS NOT NULL THEN
        PERFORM require_owner(agent);
    END IF;
    task := 'retention';
    FOR name IN
        SELECT agent WHERE agent IS NOT NULL
        UNION ALL
        SELECT o.agent_id FROM owners_of_memories(true) o WHERE agent IS NULL LOOP
        SELECT to_jsonb(r) INTO counts
          FROM _retention_due(_maintenance_due.name, policy, orphaned) r;
        SELECT string_agg(c.value || ' ' || c.key, ', '), 0.001 * sum(c.value::float8)
          INTO why, seconds
          FROM jsonb_each_text(counts) c WHERE c.key <> 'scanned' AND c.value <> '0';
        IF why IS NOT NULL THEN
            RETURN NEXT;
        END IF;
    END LOOP;
    runs := cardinality(_old_runs(agent, policy));
    IF runs > 0 THEN
        RETURN QUERY SELECT 'old runs', current_schema()::text, runs || ' runs', 0.1::float8,
                            jsonb_build_object('runs', runs);
    END IF;
    RETURN QUERY
    SELECT 'statistics', t.name, t.stale, 1::float8, '{}'::jsonb FROM table_states() t
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
                ELSE 0.0005 * (s.written + s.changed) END,
           '{}'::jsonb
      FROM rank_index_states(agent, at_least) s
     WHERE s.shrunk
        OR (s.due IS NOT NULL OR s.written + s.changed > 0) AND hnsw_state() <> 'refused';
END
$function$;

COMMENT ON FUNCTION _maintenance_due IS
    'Returns the tasks that maintain would do with these arguments: the agent or table, the '
    'reason, about how many seconds it takes, and what it changes. Rows of deleted memories are '
    'looked for if orphaned is true.';

-- For maintainers.
-- Memories that a rule chose are locked in the order of the key and judged again, so that two runs,
-- or a run and a writer, do not both act on them. max_live comes last, in transactions of its own,
-- since it locks from the first memory on again.
CREATE OR REPLACE FUNCTION _retain_batch(
    agent text, run uuid, after uuid DEFAULT NULL, batch_size integer DEFAULT 1000,
    actor text DEFAULT session_user)
    RETURNS TABLE (
        scanned bigint, archived bigint, deleted bigint, completed bigint, orphans bigint,
        events bigint, last_id uuid, more boolean)
    LANGUAGE plpgsql SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan AS $verb$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    this maintenance_runs;
    policy jsonb;
    max_live bigint;
    why text;
    seen uuid[];
    chosen uuid[];
    judged record;
BEGIN
    PERFORM require_note(agent, actor, '{}');
    PERFORM require_count('batch_size', batch_size, 1, @MAX_BATCH@);
    SELECT r.* INTO this FROM maintenance_runs r WHERE r.agent_id = agent AND r.id = run;
    IF NOT FOUND THEN
        SELECT r.* INTO this FROM maintenance_runs r WHERE r.agent_id = '' AND r.id = run;
    END IF;
    PERFORM require(FOUND, format('%s has no run of maintenance %s: _begin_maintenance opens one',
                                  named_owner(agent), run));
    policy := this.policy;
    max_live := policy ->> 'max_live';
    why := 'retention policy ' || (policy ->> 'name');
    SELECT array_agg(n.id ORDER BY n.place), array_agg(n.id) FILTER (WHERE n.rule <> '')
      INTO seen, chosen
      FROM _next_judged(agent, policy, after, batch_size) WITH ORDINALITY n(id, rule, place);
    scanned := coalesce(cardinality(seen), 0);
    last_id := coalesce(seen[scanned], after);
    archived := 0;
    deleted := 0;
    completed := 0;
    orphans := 0;
    events := 0;
    FOR judged IN
        SELECT locked.rule, array_agg(locked.id) AS ids,
               jsonb_build_object('rule', locked.rule) AS told
          FROM (SELECT m.id, _retention_rule(
                           m.trust, m.expires_at, m.created_at, m.status,
                           m.additional_types || m.memory_type,
                           (SELECT u.last_accessed_at FROM memory_usage u
                             WHERE u.agent_id = agent AND u.memory_id = m.id), policy, moment
                       ) AS rule
                  FROM agent_memories m
                 WHERE m.agent_id = agent AND m.id = ANY (chosen) AND m.status <> 'archived'
                 ORDER BY m.id FOR UPDATE) locked
         WHERE locked.rule <> ''
         GROUP BY locked.rule LOOP
        IF judged.rule = 'delete_threshold' THEN
            deleted := (SELECT count(*) FROM forget(agent, judged.ids, why, actor));
        ELSIF judged.rule = 'stale_tasks_after' THEN
            completed := archive_memories(
                agent, judged.ids, 'completed', judged.told, why, actor, '{}');
        ELSE
            archived := archived + archive_memories(
                agent, judged.ids, 'archived', judged.told, why, actor, '{}');
        END IF;
    END LOOP;
    IF scanned = 0 AND max_live IS NOT NULL THEN
        archived := _archive_excess_batch(agent, max_live, batch_size, why, actor);
    END IF;
    more := scanned = batch_size
            OR max_live IS NOT NULL AND (scanned > 0 OR archived = batch_size);
    IF NOT more AND policy ? 'max_event_age_hours' THEN
        events := _expire_events_batch(agent, policy, batch_size);
        more := events >= batch_size;
    END IF;
    IF NOT more THEN  -- last, since each batch of it reads all that belongs to memories
        orphans := _sweep_orphans_batch(agent, batch_size);
        more := orphans >= batch_size;
    END IF;
    moment := clock_timestamp();
    UPDATE maintenance_runs r
       SET scanned = r.scanned + _retain_batch.scanned,
           archived = r.archived + _retain_batch.archived,
           deleted = r.deleted + _retain_batch.deleted,
           completed = r.completed + _retain_batch.completed,
           orphans = r.orphans + _retain_batch.orphans,
           events = r.events + _retain_batch.events,
           seconds = greatest(date_part('epoch', moment - r.started_at), 0)
     WHERE r.agent_id = this.agent_id AND r.id = run;
    RETURN NEXT;
END
$verb$;

COMMENT ON FUNCTION _retain_batch IS
    'Applies the policy of a run to the next live memories of an agent after an id, then to '
    'memories beyond max_live, then to events that are too old, then removes rows that deleted '
    'memories left behind. Call it again with last_id while more is true.';

CREATE OR REPLACE FUNCTION _archive_excess_batch(
    agent text, max_live bigint, batch_size integer, reason text, actor text) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    least_trusted uuid[];
    locked uuid[];
BEGIN
    -- Counted and chosen in one statement: with two, another run could archive memories in between,
    -- and this one would archive as many again.
    least_trusted := ARRAY(
        SELECT m.id FROM agent_memories m
         WHERE m.agent_id = agent AND m.status <> 'archived'
         ORDER BY coalesce(m.trust, 0.5), m.created_at NULLS FIRST, m.id
         LIMIT greatest(0, least(batch_size, (
             SELECT count(*) - max_live FROM agent_memories m
              WHERE m.agent_id = agent AND m.status <> 'archived'))));
    locked := ARRAY(
        SELECT m.id FROM agent_memories m
         WHERE m.agent_id = agent AND m.id = ANY (least_trusted) AND m.status <> 'archived'
         ORDER BY m.id FOR NO KEY UPDATE);
    RETURN archive_memories(agent, locked, 'archived', '{"rule": "max_live"}', reason, actor, '{}');
END
$verb$;

COMMENT ON FUNCTION _archive_excess_batch IS
    'Archives the least trusted live memories beyond max_live, at most batch_size; returns their '
    'number. Trust that was never assessed counts as 0.5.';

-- Without sorting, the order forces the index in the order of time. Locked rows are skipped:
-- another run is deleting them. Places in the table stay the same while the rows are locked: events
-- do not change.
CREATE OR REPLACE FUNCTION _lock_old_events(
    agent text, before timestamptz, batch_size integer, OUT places tid[], OUT gone uuid[])
    LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_sort = off AS $function$
BEGIN
    SELECT array_agg(o.ctid), array_agg(o.memory_id) FILTER (WHERE o.event_type = 'deleted')
      INTO places, gone
      FROM (SELECT e.ctid, e.memory_id, e.event_type FROM memory_events e
             WHERE e.agent_id = agent AND e.event_type <> 'initial' AND e.occurred_at < before
             ORDER BY e.occurred_at LIMIT batch_size FOR UPDATE SKIP LOCKED) o;
END
$function$;

COMMENT ON FUNCTION _lock_old_events IS
    'Locks the oldest events of an agent, except for first ones, and returns their places and the '
    'memories that were deleted.';

-- The first event of a memory stays as long as the memory, and goes with the event of its deletion.
CREATE OR REPLACE FUNCTION _expire_events_batch(agent text, policy jsonb, batch_size integer)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    before timestamptz := _events_expire_before(agent, policy);
    old record;
    expired bigint;
    firsts bigint;
BEGIN
    SELECT * INTO old FROM _lock_old_events(agent, before, batch_size);
    DELETE FROM memory_events e WHERE e.agent_id = agent AND e.ctid = ANY (old.places);
    GET DIAGNOSTICS expired = ROW_COUNT;
    DELETE FROM memory_events e
     WHERE e.agent_id = agent AND e.memory_id = ANY (old.gone) AND e.event_type = 'initial'
       AND e.occurred_at < before
       AND NOT EXISTS (SELECT FROM agent_memories m
                        WHERE m.agent_id = agent AND m.id = e.memory_id);
    GET DIAGNOSTICS firsts = ROW_COUNT;
    RETURN expired + firsts;
END
$verb$;

COMMENT ON FUNCTION _expire_events_batch IS
    'Deletes the oldest events beyond max_event_age_hours of a policy, at most batch_size and the '
    'first events of memories whose deletion is among them. Returns their number.';

-- Locked rows are skipped: the transaction that deletes a memory deletes its counters and links.
-- For the few rows found, their memories are looked up again by key (OFFSET 0), since these
-- may have been stored in the meantime. Locked rows do not move, so they are deleted where they lie
-- (ctid): in an array, since a join by place may read the whole table.
CREATE OR REPLACE FUNCTION _sweep_orphans_batch(agent text, batch_size integer)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    gone uuid[] := _orphaned(agent);
    counters bigint;
    links bigint;
BEGIN
    DELETE FROM memory_usage u
     WHERE u.agent_id = agent AND u.ctid = ANY (ARRAY(
            SELECT o.ctid
              FROM memory_usage o
             WHERE o.agent_id = agent AND o.memory_id = ANY (gone)
               AND NOT EXISTS (SELECT FROM agent_memories m
                                WHERE m.agent_id = agent AND m.id = o.memory_id OFFSET 0)
             ORDER BY o.memory_id LIMIT batch_size FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS counters = ROW_COUNT;
    DELETE FROM memory_links l
     WHERE l.agent_id = agent AND l.ctid = ANY (ARRAY(
            SELECT o.ctid
              FROM memory_links o
             WHERE o.agent_id = agent
               AND (o.source_id = ANY (gone) OR o.target_id = ANY (gone))
               AND (NOT EXISTS (SELECT FROM agent_memories m
                                 WHERE m.agent_id = agent AND m.id = o.source_id OFFSET 0)
                    OR NOT EXISTS (SELECT FROM agent_memories m
                                    WHERE m.agent_id = agent AND m.id = o.target_id OFFSET 0))
             ORDER BY o.source_id, o.target_id, o.kind LIMIT batch_size
               FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS links = ROW_COUNT;
    RETURN counters + links;
END
$verb$;

COMMENT ON FUNCTION _sweep_orphans_batch IS
    'Removes counters and links of deleted memories, at most batch_size of each; returns their '
    'number.';

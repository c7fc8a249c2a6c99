-- For maintainers.
-- Memories that a rule chose are locked in the order of the key and judged again, so that two runs,
-- or a run and a writer, do not both act on them. max_live comes last, in transactions of its own,
-- since it locks from the first memory on again.
CREATE OR REPLACE FUNCTION collect_garbage_batch(
    agent text, run uuid, after uuid DEFAULT NULL, batch_size integer DEFAULT 1000,
    actor text DEFAULT session_user)
    RETURNS TABLE (
        scanned bigint, archived bigint, deleted bigint, swept bigint, events bigint, runs bigint,
        last_id uuid, more boolean)
    LANGUAGE plpgsql SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan AS $verb$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    this gc_runs;
    oldest timestamptz;
    why text;
    seen uuid[];
    chosen uuid[];
    judged record;
    capped boolean;
BEGIN
    PERFORM require_note(agent, actor, '{}');
    PERFORM require_count('batch_size', batch_size, 1, @MAX_BATCH@);
    SELECT r.* INTO this FROM gc_runs r WHERE r.agent_id = agent AND r.id = run;
    IF NOT FOUND THEN
        SELECT r.* INTO this FROM gc_runs r WHERE r.agent_id = '' AND r.id = run;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION '% has no garbage collection %: begin_garbage_run opens one',
            named_owner(agent), run USING ERRCODE = 'invalid_parameter_value';
    END IF;
    why := 'garbage collection by policy ' || this.policy;
    oldest := moment - this.max_age_hours * interval '1 hour';
    SELECT array_agg(n.id ORDER BY n.place), array_agg(n.id) FILTER (WHERE n.rule <> '')
      INTO seen, chosen
      FROM next_judged(agent, after, batch_size, moment, this.min_trust_threshold, oldest,
                       this.delete_threshold) WITH ORDINALITY n(id, rule, place);
    scanned := coalesce(cardinality(seen), 0);
    last_id := coalesce(seen[scanned], after);
    archived := 0;
    deleted := 0;
    swept := 0;
    events := 0;
    runs := 0;
    FOR judged IN
        SELECT locked.rule, array_agg(locked.id) AS ids
          FROM (SELECT m.id, garbage_rule(m.trust, m.expires_at, m.created_at, moment,
                             this.min_trust_threshold, oldest, this.delete_threshold) AS rule
                  FROM agent_memories m
                 WHERE m.agent_id = agent AND m.id = ANY (chosen) AND m.status <> 'archived'
                 ORDER BY m.id FOR UPDATE) locked
         WHERE locked.rule <> ''
         GROUP BY locked.rule
    LOOP
        IF judged.rule = 'delete' THEN
            deleted := (SELECT count(*) FROM forget(agent, judged.ids, why, actor));
        ELSE
            archived := archived + archive_memories(agent, judged.ids, 'archived',
                jsonb_build_object('rule', judged.rule), why, actor, '{}');
        END IF;
    END LOOP;
    capped := this.max_live IS NOT NULL;
    IF scanned = 0 AND capped THEN
        archived := archive_excess_batch(agent, this.max_live, this.policy, batch_size, actor);
    END IF;
    more := scanned = batch_size OR capped AND (scanned > 0 OR archived = batch_size);
    IF NOT more AND this.max_event_age_hours IS NOT NULL THEN
        events := expire_events_batch(agent, this.max_event_age_hours, batch_size);
        more := events >= batch_size;
    END IF;
    IF NOT more THEN  -- last, since each batch of it reads all that belongs to memories
        swept := sweep_orphans_batch(agent, batch_size);
        more := swept >= batch_size;
    END IF;
    IF NOT more THEN
        runs := expire_runs(agent, this.id, this.max_run_age_hours);
    END IF;
    moment := clock_timestamp();
    UPDATE gc_runs r
       SET scanned = r.scanned + collect_garbage_batch.scanned,
           archived = r.archived + collect_garbage_batch.archived,
           deleted = r.deleted + collect_garbage_batch.deleted,
           swept = r.swept + collect_garbage_batch.swept,
           events = r.events + collect_garbage_batch.events,
           runs = r.runs + collect_garbage_batch.runs,
           seconds = greatest(date_part('epoch', moment - r.started_at), 0)
     WHERE r.agent_id = this.agent_id AND r.id = run;
    RETURN NEXT;
END
$verb$;

COMMENT ON FUNCTION collect_garbage_batch IS
    'Does one batch of a garbage collection: the next live memories of an owner after an id, then '
    'memories beyond max_live, then events that are too old, then rows that deleted memories left '
    'behind, then earlier runs that are too old. Call it again with last_id while more is true.';

-- Only the key gives this order without a sort, and only the index of expiry the other. Without
-- statistics, PostgreSQL would read and sort all that is left of the owner for every batch.
CREATE OR REPLACE FUNCTION next_judged(
    agent text, after uuid, many integer, moment timestamptz, min_trust_threshold float8,
    oldest timestamptz, delete_threshold float8) RETURNS TABLE (id uuid, rule text)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET enable_sort = off AS $function$
#variable_conflict use_column
DECLARE
    nil uuid := '00000000-0000-0000-0000-000000000000';
    last timestamptz := (SELECT m.expires_at FROM agent_memories m
                          WHERE m.agent_id = agent AND m.id = after);
BEGIN
    IF num_nonnulls(min_trust_threshold, oldest, delete_threshold) = 0 THEN
        RETURN QUERY
        SELECT m.id, garbage_rule(m.trust, m.expires_at, m.created_at, moment, NULL, NULL, NULL)
          FROM agent_memories m
         WHERE m.agent_id = agent AND m.status <> 'archived' AND m.expires_at <= moment
           AND (m.expires_at, m.id) > (coalesce(last, '-infinity'), coalesce(after, nil))
         ORDER BY m.expires_at, m.id LIMIT many;
        RETURN;
    END IF;
    -- Two conditions on the id, since OR would keep the key from being used.
    RETURN QUERY
    SELECT m.id, garbage_rule(m.trust, m.expires_at, m.created_at, moment,
                     min_trust_threshold, oldest, delete_threshold)
      FROM agent_memories m
     WHERE m.agent_id = agent AND m.status <> 'archived'
       AND m.id >= coalesce(after, nil)
       AND m.id IS DISTINCT FROM after
     ORDER BY m.id LIMIT many;
END
$function$;

COMMENT ON FUNCTION next_judged IS
    'Returns the next live memories of an owner after this one, in the order of ids, and the '
    'action of a policy for each. If the policy has no rule of trust or age, returns only what has '
    'expired, in that order.';

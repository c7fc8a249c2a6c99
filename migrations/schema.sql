--
-- PostgreSQL database dump
--

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: pgrecall; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA pgrecall;

--
-- Name: adjust_trust(text, uuid, double precision, text, text, jsonb); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.adjust_trust(agent text, memory_id uuid, delta double precision, reason text, actor text DEFAULT NULL::text, metadata jsonb DEFAULT '{}'::jsonb) RETURNS TABLE(id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    this_id uuid := adjust_trust.memory_id;
    note_reason text := reason;
    note_actor text := coalesce(actor, session_user);
    note_metadata jsonb := coalesce(metadata, '{}'::jsonb);
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (actor = '' IS TRUE OR jsonb_typeof(coalesce(metadata, '{}'::jsonb)) <> 'object') IS NOT FALSE THEN
        RAISE EXCEPTION 'actor must not be empty and metadata must be a JSON object, got % and %', actor, metadata
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (NOT delta BETWEEN -1 AND 1 OR reason = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'delta lies within -1 and 1 and needs a reason, got % and %', delta, reason
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH locked AS
    (SELECT agent_memories.id AS id, agent_memories.trust AS trust, agent_memories.trust_provenance AS trust_provenance, agent_memories.trust_consensus AS trust_consensus, agent_memories.trust_governance AS trust_governance, agent_memories.trust_usage AS trust_usage
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.id = this_id AND agent_memories.trust IS NOT NULL ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    changed AS
    (UPDATE agent_memories SET trust=CASE WHEN (least(greatest(locked.trust + delta, 0.0), 1.0) < 1e-100::float8) THEN 0.0 ELSE least(greatest(locked.trust + delta, 0.0), 1.0) END, updated_at=now() FROM locked WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id RETURNING agent_memories.id, jsonb_build_object('trust', locked.trust, 'trust_provenance', locked.trust_provenance, 'trust_consensus', locked.trust_consensus, 'trust_governance', locked.trust_governance, 'trust_usage', locked.trust_usage) AS old_values, jsonb_build_object('trust', agent_memories.trust, 'trust_provenance', agent_memories.trust_provenance, 'trust_consensus', agent_memories.trust_consensus, 'trust_governance', agent_memories.trust_governance, 'trust_usage', agent_memories.trust_usage) AS new_values, 'manual' AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
    IF NOT FOUND THEN
        RAISE EXCEPTION '% has no memory % that adjust_trust could change', agent, adjust_trust.memory_id
            USING ERRCODE = 'no_data_found';
    END IF;
END
$$;

--
-- Name: FUNCTION adjust_trust(agent text, memory_id uuid, delta double precision, reason text, actor text, metadata jsonb); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.adjust_trust(agent text, memory_id uuid, delta double precision, reason text, actor text, metadata jsonb) IS 'Adds delta to the stored trust of a memory, within 0 and 1, for a reason.';

--
-- Name: archive_excess_batch(text, bigint, text, integer); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.archive_excess_batch(agent text, max_live bigint, policy text DEFAULT 'default'::text, batch_size integer DEFAULT 1000) RETURNS TABLE(id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    note_reason text := 'garbage collection by policy ' || coalesce(policy, 'default');
    note_actor text := session_user;
    note_metadata jsonb := '{}'::jsonb;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (max_live < 0 IS TRUE) IS NOT FALSE THEN
        RAISE EXCEPTION 'max_live must not be negative, got %', max_live
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (policy IS NULL OR policy = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'policy must be named'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (batch_size IS NULL OR NOT batch_size BETWEEN 1 AND 100000) IS NOT FALSE THEN
        RAISE EXCEPTION 'batch_size lies within 1 and 100000, got %', batch_size
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH least AS
    (SELECT rival.id AS id
    FROM agent_memories AS rival
    WHERE rival.agent_id = owner_id AND rival.status != 'archived' ORDER BY coalesce(rival.trust, 0.5::float8), rival.created_at NULLS FIRST, rival.id
     LIMIT least(batch_size, greatest((SELECT count(*) AS count_1
    FROM agent_memories AS rival
    WHERE rival.agent_id = owner_id AND rival.status != 'archived') - max_live, 0))),
    locked AS
    (SELECT agent_memories.id AS id, agent_memories.status AS status
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.status != 'archived' AND agent_memories.id IN (SELECT least.id
    FROM least) ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    changed AS
    (UPDATE agent_memories SET updated_at=now(), status='archived' FROM locked WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id RETURNING agent_memories.id, jsonb_build_object('status', locked.status) AS old_values, jsonb_build_object('status', agent_memories.status, 'rule', 'max_live') AS new_values, 'archived' AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
END
$$;

--
-- Name: FUNCTION archive_excess_batch(agent text, max_live bigint, policy text, batch_size integer); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.archive_excess_batch(agent text, max_live bigint, policy text, batch_size integer) IS 'One batch of the garbage collection: the least trusted beyond the cap are archived.';

--
-- Name: await_writers(regclass, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.await_writers(memories regclass, seconds double precision) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
DECLARE
    until timestamptz := clock_timestamp() + seconds * interval '1 second';
    writers text[] := ARRAY(
        SELECT DISTINCT virtualtransaction FROM pg_locks
         WHERE locktype = 'relation' AND relation = memories AND granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid());
BEGIN
    WHILE EXISTS (SELECT FROM pg_locks WHERE virtualtransaction = ANY (writers)
                     AND locktype = 'virtualxid') LOOP
        IF clock_timestamp() >= until THEN
            RETURN false;
        END IF;
        PERFORM pg_sleep(0.02);
    END LOOP;
    RETURN true;
END
$$;

--
-- Name: FUNCTION await_writers(memories regclass, seconds double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.await_writers(memories regclass, seconds double precision) IS 'Waits until every transaction that has written to the table by now has ended, without a lock of its own; false when some have not after so many seconds.';

--
-- Name: calibrated_candidates(text, text[], integer, integer[], double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.calibrated_candidates(relation text, directions text[], hits integer, levels integer[], recall double precision, worst double precision, OUT candidates integer, OUT likeness double precision) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    SET enable_seqscan TO 'on'
    SET enable_indexscan TO 'on'
    AS $_$
DECLARE
    nearest text;
    direction text;
    level integer;
    walked uuid[];
    best uuid[] := '{}';
    each integer := 0;
    own bigint;
    fewest bigint;
    found bigint;
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    nearest := format($$
        SELECT array_agg(memory_id) FROM (
            SELECT memory_id FROM %I
             ORDER BY position OPERATOR("public".<#>) $1 LIMIT $2) nearest $$, relation);
    likeness := (
        SELECT percentile_cont(0.9) WITHIN GROUP (
                   ORDER BY nearest_landmark(relation, asked) / "public".l2_norm(asked)) / 1.25
          FROM unnest(directions) one, meaning(one::"public".halfvec) asked WHERE "public".l2_norm(asked) > 0);
    PERFORM set_config('enable_indexscan', 'off', true);
    FOREACH direction IN ARRAY directions LOOP
        EXECUTE nearest INTO walked USING direction::"public".halfvec, hits;
        best := best || walked;
        each := coalesce(cardinality(walked), 0);
    END LOOP;
    PERFORM set_config('enable_indexscan', 'on', true);
    FOR level IN SELECT one FROM unnest(levels) one ORDER BY one LOOP
        found := 0;
        fewest := each;
        FOR place IN 1 .. cardinality(directions) LOOP
            walked := ARRAY(SELECT n.memory_id
                              FROM near_positions(
                                  relation, directions[place]::"public".halfvec, level, 0, likeness) n);
            own := (SELECT count(*) FROM unnest(walked) one
                     WHERE one = ANY (best[(place - 1) * each + 1 : place * each]));
            found := found + own;
            fewest := least(fewest, own);
        END LOOP;
        IF found >= recall * cardinality(best) AND fewest >= worst * each THEN
            candidates := level;
            RETURN;
        END IF;
    END LOOP;
    candidates := (SELECT max(one) FROM unnest(levels) one);
END
$_$;

--
-- Name: FUNCTION calibrated_candidates(relation text, directions text[], hits integer, levels integer[], recall double precision, worst double precision, OUT candidates integer, OUT likeness double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.calibrated_candidates(relation text, directions text[], hits integer, levels integer[], recall double precision, worst double precision, OUT candidates integer, OUT likeness double precision) IS 'The fewest of the levels with which walks through the graph of a rank index find this share of the hits of these directions, and the worst of them its own least share; or the most. And the likeness: the cosine similarity to a query from which on what a walk has met is as like it as usual.';

--
-- Name: change_text_language(regconfig); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.change_text_language(language regconfig) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
DECLARE
    changed bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the language is changed in a READ COMMITTED transaction, which sees what '
            'others write until it has its lock; this one is %', current_setting('transaction_isolation')
            USING ERRCODE = 'invalid_transaction_state';
    ELSIF NOT EXISTS (SELECT FROM pg_ts_config WHERE oid = language) THEN
        RAISE EXCEPTION 'language must be a text search configuration, got %', language
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    LOCK TABLE agent_memories IN SHARE ROW EXCLUSIVE MODE;
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION text_language() RETURNS regconfig LANGUAGE sql '
        'IMMUTABLE PARALLEL SAFE RETURN %L::regconfig', (
            SELECT format('%I.%I', n.nspname, c.cfgname)
              FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
             WHERE c.oid = language));
    ALTER FUNCTION word_filter(text) COST 100;
    ALTER FUNCTION lexemes(text) COST 100;
    ALTER FUNCTION query_terms(text) COST 100;
    UPDATE agent_memories SET content = content;
    GET DIAGNOSTICS changed = ROW_COUNT;
    LOCK TABLE rank_indexes IN SHARE ROW EXCLUSIVE MODE;
    UPDATE rank_indexes SET common_terms = NULL, term_memories = NULL;
    RETURN changed;
END
$$;

--
-- Name: FUNCTION change_text_language(language regconfig); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.change_text_language(language regconfig) IS 'Changes the language by which words are compared and takes all texts apart again, all or nothing; searches go on by the former one until it ends, writing waits.';

--
-- Name: clear_memories(text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.clear_memories(agent text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    cleared bigint := 0;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    WITH locked AS
    (SELECT agent_memories.id AS id
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id ORDER BY agent_memories.id FOR UPDATE),
    gone AS
    (DELETE FROM agent_memories WHERE agent_memories.agent_id = owner_id AND agent_memories.id IN (SELECT locked.id
    FROM locked) RETURNING agent_memories.id)
     SELECT count(*) AS cleared
    FROM gone
    INTO cleared;
    DELETE FROM memory_usage WHERE memory_usage.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_usage.agent_id AND agent_memories.id = memory_usage.memory_id));
    DELETE FROM memory_labels WHERE memory_labels.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_labels.agent_id AND agent_memories.id = memory_labels.memory_id));
    DELETE FROM memory_links WHERE memory_links.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_links.agent_id AND agent_memories.id = memory_links.source_id));
    DELETE FROM memory_events WHERE memory_events.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_events.agent_id AND agent_memories.id = memory_events.memory_id));
    DELETE FROM gc_runs WHERE gc_runs.agent_id = owner_id;
    RETURN cleared;
END
$$;

--
-- Name: FUNCTION clear_memories(agent text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.clear_memories(agent text) IS 'Deletes everything of an agent, memories, counters, labels, links and history; returns how many memories there were.';

--
-- Name: collect_garbage(text, double precision, double precision, double precision, bigint, boolean, text, integer, bigint, bigint, bigint, bigint); Type: PROCEDURE; Schema: pgrecall; Owner: -
--

CREATE PROCEDURE pgrecall.collect_garbage(IN agent text DEFAULT NULL::text, IN min_trust_threshold double precision DEFAULT 0.2, IN max_age_hours double precision DEFAULT 720, IN delete_threshold double precision DEFAULT 0.1, IN max_live bigint DEFAULT NULL::bigint, IN dry_run boolean DEFAULT false, IN policy text DEFAULT 'default'::text, IN batch_size integer DEFAULT 1000, INOUT scanned bigint DEFAULT 0, INOUT archived bigint DEFAULT 0, INOUT deleted bigint DEFAULT 0, INOUT swept bigint DEFAULT 0)
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_variable
DECLARE
    routine oid;
    ours text;
    theirs text;
    owners text[];
    whose text;
    run uuid;
    log_owner text := coalesce(agent, '');
    began timestamptz := now();
    last uuid;
    step record;
    changed bigint;
BEGIN
    GET DIAGNOSTICS routine = PG_ROUTINE_OID;
    SELECT pg_catalog.format('%I, pg_temp', n.nspname) INTO ours
      FROM pg_catalog.pg_proc p
      JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
     WHERE p.oid OPERATOR(pg_catalog.=) routine;
    theirs := pg_catalog.current_setting('search_path');
    PERFORM pg_catalog.set_config('search_path', ours, true);
    IF dry_run IS NULL OR agent = '' IS TRUE OR policy IS NULL OR policy = ''
       OR batch_size IS NULL OR NOT batch_size BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION 'dry_run is true or false, agent and policy must not be empty, and '
            'batch_size lies within 1 and 100000; got %, %, % and %',
            dry_run, agent, policy, batch_size
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (coalesce(min_trust_threshold, 0) BETWEEN 0 AND 1
        AND coalesce(delete_threshold, 0) BETWEEN 0 AND 1
        AND coalesce(max_age_hours, 0) BETWEEN 0 AND 8766000
        AND coalesce(max_live, 0) >= 0) IS NOT TRUE THEN
        RAISE EXCEPTION 'thresholds lie within 0 and 1, max_age_hours within 0 and 8766000, and '
            'max_live is not negative; got %, %, % and %',
            min_trust_threshold, delete_threshold, max_age_hours, max_live
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    scanned := 0; archived := 0; deleted := 0; swept := 0;
    owners := CASE WHEN agent IS NULL THEN owners_of_memories(true)
                   ELSE ARRAY[agent] END;
    IF NOT dry_run THEN
        run := event_id();
        INSERT INTO gc_runs AS r
               (agent_id, id, policy, min_trust_threshold, delete_threshold,
                max_age_hours, max_live, scanned, archived, deleted, swept, started_at, seconds,
                finished)
        VALUES (log_owner, run, policy,
                min_trust_threshold, delete_threshold, max_age_hours, max_live, 0, 0, 0, 0, began,
                0, false);
        COMMIT;
    END IF;
    FOREACH whose IN ARRAY owners LOOP
        PERFORM pg_catalog.set_config('search_path', ours, true);
        IF dry_run THEN
            SELECT * INTO step FROM count_garbage(
                whose, min_trust_threshold, max_age_hours, delete_threshold, max_live) g;
            scanned := scanned + step.scanned;
            archived := archived + step.archived;
            deleted := deleted + step.deleted;
            swept := swept + step.swept;
            CONTINUE;
        END IF;
        last := NULL;
        LOOP
            PERFORM pg_catalog.set_config('search_path', ours, true);
            SELECT * INTO step FROM collect_garbage_batch(
                whose, last, min_trust_threshold, max_age_hours, delete_threshold, policy,
                batch_size) b;
            last := step.last_id;
            scanned := scanned + step.scanned;
            archived := archived + step.archived;
            deleted := deleted + step.deleted;
            UPDATE gc_runs r SET scanned = collect_garbage.scanned,
                   archived = collect_garbage.archived, deleted = collect_garbage.deleted,
                   swept = collect_garbage.swept, seconds = date_part('epoch', now() - began)
             WHERE r.agent_id = log_owner AND r.id = run;
            COMMIT;
            EXIT WHEN step.scanned < batch_size;
        END LOOP;
        LOOP
            EXIT WHEN max_live IS NULL;
            PERFORM pg_catalog.set_config('search_path', ours, true);
            SELECT count(*) INTO changed
              FROM archive_excess_batch(whose, max_live, policy, batch_size) e;
            archived := archived + changed;
            UPDATE gc_runs r SET scanned = collect_garbage.scanned,
                   archived = collect_garbage.archived, deleted = collect_garbage.deleted,
                   swept = collect_garbage.swept, seconds = date_part('epoch', now() - began)
             WHERE r.agent_id = log_owner AND r.id = run;
            COMMIT;
            EXIT WHEN changed < batch_size;
        END LOOP;
        LOOP
            PERFORM pg_catalog.set_config('search_path', ours, true);
            changed := sweep_orphans_batch(whose, batch_size);
            swept := swept + changed;
            UPDATE gc_runs r SET scanned = collect_garbage.scanned,
                   archived = collect_garbage.archived, deleted = collect_garbage.deleted,
                   swept = collect_garbage.swept, seconds = date_part('epoch', now() - began)
             WHERE r.agent_id = log_owner AND r.id = run;
            COMMIT;
            EXIT WHEN changed < batch_size;
        END LOOP;
    END LOOP;
    IF NOT dry_run THEN
        PERFORM pg_catalog.set_config('search_path', ours, true);
        UPDATE gc_runs r SET scanned = collect_garbage.scanned,
               archived = collect_garbage.archived, deleted = collect_garbage.deleted,
               swept = collect_garbage.swept, finished = true,
               seconds = date_part('epoch', clock_timestamp() - began)
         WHERE r.agent_id = log_owner AND r.id = run;
    END IF;
    PERFORM pg_catalog.set_config('search_path', theirs, true);
END
$$;

--
-- Name: PROCEDURE collect_garbage(IN agent text, IN min_trust_threshold double precision, IN max_age_hours double precision, IN delete_threshold double precision, IN max_live bigint, IN dry_run boolean, IN policy text, IN batch_size integer, INOUT scanned bigint, INOUT archived bigint, INOUT deleted bigint, INOUT swept bigint); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON PROCEDURE pgrecall.collect_garbage(IN agent text, IN min_trust_threshold double precision, IN max_age_hours double precision, IN delete_threshold double precision, IN max_live bigint, IN dry_run boolean, IN policy text, IN batch_size integer, INOUT scanned bigint, INOUT archived bigint, INOUT deleted bigint, INOUT swept bigint) IS 'Archives and deletes live memories by a policy, of one agent or of all, in batches that commit; a row in gc_runs tells how it went.';

--
-- Name: collect_garbage_batch(text, uuid, double precision, double precision, double precision, text, integer); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.collect_garbage_batch(agent text, after uuid DEFAULT NULL::uuid, min_trust_threshold double precision DEFAULT 0.2, max_age_hours double precision DEFAULT 720, delete_threshold double precision DEFAULT 0.1, policy text DEFAULT 'default'::text, batch_size integer DEFAULT 1000) RETURNS TABLE(scanned bigint, last_id uuid, archived bigint, deleted bigint)
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    ids uuid[] := '{}';
    batch record := NULL;
    note_reason text := 'garbage collection by policy ' || coalesce(policy, 'default');
    note_actor text := session_user;
    note_metadata jsonb := '{}'::jsonb;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (NOT (coalesce(min_trust_threshold, 0) BETWEEN 0 AND 1 AND coalesce(delete_threshold, 0) BETWEEN 0 AND 1 AND coalesce(max_age_hours, 0) BETWEEN 0 AND 8766000)) IS NOT FALSE THEN
        RAISE EXCEPTION 'thresholds lie within 0 and 1 and max_age_hours within 0 and 8766000, got %, % and %', min_trust_threshold, delete_threshold, max_age_hours
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (policy IS NULL OR policy = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'policy must be named'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (batch_size IS NULL OR NOT batch_size BETWEEN 1 AND 100000) IS NOT FALSE THEN
        RAISE EXCEPTION 'batch_size lies within 1 and 100000, got %', batch_size
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF after IS NULL THEN
        WITH scanned AS
        (SELECT agent_memories.id AS id, CASE WHEN (agent_memories.trust < delete_threshold) THEN 'delete' WHEN (agent_memories.expires_at <= now()) THEN 'expires_at' WHEN (agent_memories.trust < min_trust_threshold) THEN 'min_trust_threshold' WHEN (agent_memories.created_at < CAST(now() AS TIMESTAMP WITH TIME ZONE) - CAST(max_age_hours AS DOUBLE PRECISION) * interval '1 hour') THEN 'max_age_hours' END AS verdict
        FROM agent_memories
        WHERE agent_memories.agent_id = owner_id AND agent_memories.status != 'archived' ORDER BY agent_memories.id
         LIMIT batch_size),
        locked AS
        (SELECT agent_memories.id AS id, agent_memories.status AS status, CASE WHEN (agent_memories.trust < delete_threshold) THEN 'delete' WHEN (agent_memories.expires_at <= now()) THEN 'expires_at' WHEN (agent_memories.trust < min_trust_threshold) THEN 'min_trust_threshold' WHEN (agent_memories.created_at < CAST(now() AS TIMESTAMP WITH TIME ZONE) - CAST(max_age_hours AS DOUBLE PRECISION) * interval '1 hour') THEN 'max_age_hours' END AS verdict
        FROM agent_memories
        WHERE agent_memories.agent_id = owner_id AND agent_memories.status != 'archived' AND agent_memories.id IN (SELECT scanned.id
        FROM scanned
        WHERE scanned.verdict IS NOT NULL) ORDER BY agent_memories.id FOR UPDATE),
        archived AS
        (UPDATE agent_memories SET updated_at=now(), status='archived' FROM locked WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id AND locked.verdict != 'delete' RETURNING agent_memories.id, 'archived' AS event_type, jsonb_build_object('status', locked.status) AS old_values, jsonb_build_object('status', agent_memories.status, 'rule', locked.verdict) AS new_values),
        deleted AS
        (DELETE FROM agent_memories WHERE agent_memories.agent_id = owner_id AND agent_memories.id IN (SELECT locked.id
        FROM locked
        WHERE locked.verdict = 'delete') RETURNING agent_memories.id, 'deleted' AS event_type, jsonb_build_object('status', agent_memories.status, 'trust', agent_memories.trust, 'importance', agent_memories.importance, 'usefulness', agent_memories.usefulness, 'created_at', agent_memories.created_at) AS old_values, NULL::jsonb AS new_values),
        noted AS
        (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, happened.id AS id, event_id() AS event_id_1, happened.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, happened.old_values AS old_values, happened.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
        FROM (SELECT archived.id AS id, archived.event_type AS event_type, archived.old_values AS old_values, archived.new_values AS new_values
        FROM archived UNION ALL SELECT deleted.id AS id, deleted.event_type AS event_type, deleted.old_values AS old_values, deleted.new_values AS new_values
        FROM deleted) AS happened)
         SELECT (SELECT count(*) AS count_1
        FROM scanned) AS scanned, (SELECT scanned.id
        FROM scanned ORDER BY scanned.id DESC
         LIMIT 1) AS last_id, (SELECT count(*) AS count_2
        FROM archived) AS archived, array((SELECT deleted.id
        FROM deleted)) AS deleted_ids
        INTO batch;
    ELSE
        WITH scanned AS
        (SELECT agent_memories.id AS id, CASE WHEN (agent_memories.trust < delete_threshold) THEN 'delete' WHEN (agent_memories.expires_at <= now()) THEN 'expires_at' WHEN (agent_memories.trust < min_trust_threshold) THEN 'min_trust_threshold' WHEN (agent_memories.created_at < CAST(now() AS TIMESTAMP WITH TIME ZONE) - CAST(max_age_hours AS DOUBLE PRECISION) * interval '1 hour') THEN 'max_age_hours' END AS verdict
        FROM agent_memories
        WHERE agent_memories.agent_id = owner_id AND agent_memories.status != 'archived' AND agent_memories.id > after ORDER BY agent_memories.id
         LIMIT batch_size),
        locked AS
        (SELECT agent_memories.id AS id, agent_memories.status AS status, CASE WHEN (agent_memories.trust < delete_threshold) THEN 'delete' WHEN (agent_memories.expires_at <= now()) THEN 'expires_at' WHEN (agent_memories.trust < min_trust_threshold) THEN 'min_trust_threshold' WHEN (agent_memories.created_at < CAST(now() AS TIMESTAMP WITH TIME ZONE) - CAST(max_age_hours AS DOUBLE PRECISION) * interval '1 hour') THEN 'max_age_hours' END AS verdict
        FROM agent_memories
        WHERE agent_memories.agent_id = owner_id AND agent_memories.status != 'archived' AND agent_memories.id IN (SELECT scanned.id
        FROM scanned
        WHERE scanned.verdict IS NOT NULL) ORDER BY agent_memories.id FOR UPDATE),
        archived AS
        (UPDATE agent_memories SET updated_at=now(), status='archived' FROM locked WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id AND locked.verdict != 'delete' RETURNING agent_memories.id, 'archived' AS event_type, jsonb_build_object('status', locked.status) AS old_values, jsonb_build_object('status', agent_memories.status, 'rule', locked.verdict) AS new_values),
        deleted AS
        (DELETE FROM agent_memories WHERE agent_memories.agent_id = owner_id AND agent_memories.id IN (SELECT locked.id
        FROM locked
        WHERE locked.verdict = 'delete') RETURNING agent_memories.id, 'deleted' AS event_type, jsonb_build_object('status', agent_memories.status, 'trust', agent_memories.trust, 'importance', agent_memories.importance, 'usefulness', agent_memories.usefulness, 'created_at', agent_memories.created_at) AS old_values, NULL::jsonb AS new_values),
        noted AS
        (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, happened.id AS id, event_id() AS event_id_1, happened.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, happened.old_values AS old_values, happened.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
        FROM (SELECT archived.id AS id, archived.event_type AS event_type, archived.old_values AS old_values, archived.new_values AS new_values
        FROM archived UNION ALL SELECT deleted.id AS id, deleted.event_type AS event_type, deleted.old_values AS old_values, deleted.new_values AS new_values
        FROM deleted) AS happened)
         SELECT (SELECT count(*) AS count_1
        FROM scanned) AS scanned, (SELECT scanned.id
        FROM scanned ORDER BY scanned.id DESC
         LIMIT 1) AS last_id, (SELECT count(*) AS count_2
        FROM archived) AS archived, array((SELECT deleted.id
        FROM deleted)) AS deleted_ids
        INTO batch;
    END IF;
    IF cardinality(batch.deleted_ids) > 0 THEN
        ids := batch.deleted_ids;
        WITH locked AS
    (SELECT memory_usage.memory_id AS memory_id
    FROM memory_usage
    WHERE memory_usage.agent_id = owner_id AND memory_usage.memory_id = ANY (CAST(ids AS UUID[])) ORDER BY memory_usage.memory_id FOR UPDATE)
     DELETE FROM memory_usage WHERE memory_usage.agent_id = owner_id AND memory_usage.memory_id IN (SELECT locked.memory_id
    FROM locked);
        DELETE FROM memory_labels WHERE memory_labels.agent_id = owner_id AND memory_labels.memory_id = ANY (CAST(ids AS UUID[]));
        DELETE FROM memory_links WHERE memory_links.agent_id = owner_id AND (memory_links.source_id = ANY (CAST(ids AS UUID[])) OR memory_links.target_id = ANY (CAST(ids AS UUID[])));
    END IF;
    scanned := batch.scanned;
    last_id := batch.last_id;
    archived := batch.archived;
    deleted := cardinality(batch.deleted_ids);
    RETURN NEXT;
END
$$;

--
-- Name: FUNCTION collect_garbage_batch(agent text, after uuid, min_trust_threshold double precision, max_age_hours double precision, delete_threshold double precision, policy text, batch_size integer); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.collect_garbage_batch(agent text, after uuid, min_trust_threshold double precision, max_age_hours double precision, delete_threshold double precision, policy text, batch_size integer) IS 'One batch of the garbage collection: the next memories of an agent after an id.';

--
-- Name: common_terms(text, bigint); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.common_terms(agent text, at_least bigint) RETURNS TABLE(memories bigint, terms jsonb)
    LANGUAGE plpgsql STABLE ROWS 1
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
BEGIN
    RETURN QUERY
    SELECT (SELECT count(*) FROM agent_memories m WHERE m.agent_id = agent),
           (SELECT coalesce(jsonb_object_agg(counted.term, counted.n), '{}')
              FROM (SELECT each.term, count(*) AS n
                      FROM agent_memories m
                     CROSS JOIN LATERAL unnest(tsvector_to_array(m.terms)) each(term)
                     WHERE m.agent_id = agent
                     GROUP BY each.term
                    HAVING count(*) >= at_least) counted);
END
$$;

--
-- Name: FUNCTION common_terms(agent text, at_least bigint); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.common_terms(agent text, at_least bigint) IS 'How many memories an owner has, and how many of them have each term that at least so many have.';

--
-- Name: content_hash(text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.content_hash(content text) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN sha256(convert_to(lower(btrim(regexp_replace(NORMALIZE(content, NFC), '\s+'::text, ' '::text, 'g'::text))), 'UTF8'::name));

--
-- Name: FUNCTION content_hash(content text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.content_hash(content text) IS 'SHA-256 of the normalised text: NFC, lower case, white space collapsed and trimmed.';

--
-- Name: count_garbage(text, double precision, double precision, double precision, bigint); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.count_garbage(agent text, min_trust_threshold double precision DEFAULT 0.2, max_age_hours double precision DEFAULT 720, delete_threshold double precision DEFAULT 0.1, max_live bigint DEFAULT NULL::bigint) RETURNS TABLE(scanned bigint, archived bigint, deleted bigint, swept bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (NOT (coalesce(min_trust_threshold, 0) BETWEEN 0 AND 1 AND coalesce(delete_threshold, 0) BETWEEN 0 AND 1 AND coalesce(max_age_hours, 0) BETWEEN 0 AND 8766000)) IS NOT FALSE THEN
        RAISE EXCEPTION 'thresholds lie within 0 and 1 and max_age_hours within 0 and 8766000, got %, % and %', min_trust_threshold, delete_threshold, max_age_hours
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (max_live < 0 IS TRUE) IS NOT FALSE THEN
        RAISE EXCEPTION 'max_live must not be negative, got %', max_live
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT numbers.scanned, numbers.chosen + CASE WHEN (max_live IS NULL) THEN 0 ELSE coalesce(greatest(((numbers.scanned - numbers.chosen) - numbers.deleted) - max_live, 0), 0) END AS archived, numbers.deleted, (SELECT count(*) AS count_1
    FROM memory_usage
    WHERE memory_usage.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_usage.agent_id AND agent_memories.id = memory_usage.memory_id))) + (SELECT count(*) AS count_2
    FROM memory_labels
    WHERE memory_labels.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_labels.agent_id AND agent_memories.id = memory_labels.memory_id))) + (SELECT count(*) AS count_3
    FROM memory_links
    WHERE memory_links.agent_id = owner_id AND (NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_links.agent_id AND agent_memories.id = memory_links.source_id)) OR NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_links.agent_id AND agent_memories.id = memory_links.target_id)))) AS swept
    FROM (SELECT count(*) AS scanned, count(*) FILTER (WHERE verdicts.verdict != 'delete') AS chosen, count(*) FILTER (WHERE verdicts.verdict = 'delete') AS deleted
    FROM (SELECT CASE WHEN (agent_memories.trust < delete_threshold) THEN 'delete' WHEN (agent_memories.expires_at <= now()) THEN 'expires_at' WHEN (agent_memories.trust < min_trust_threshold) THEN 'min_trust_threshold' WHEN (agent_memories.created_at < CAST(now() AS TIMESTAMP WITH TIME ZONE) - CAST(max_age_hours AS DOUBLE PRECISION) * interval '1 hour') THEN 'max_age_hours' END AS verdict
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.status != 'archived') AS verdicts) AS numbers;
END
$$;

--
-- Name: FUNCTION count_garbage(agent text, min_trust_threshold double precision, max_age_hours double precision, delete_threshold double precision, max_live bigint); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.count_garbage(agent text, min_trust_threshold double precision, max_age_hours double precision, delete_threshold double precision, max_live bigint) IS 'What a garbage collection would do to the memories of an agent; changes nothing.';

--
-- Name: decayed_trust(double precision, timestamp with time zone, timestamp with time zone, text, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.decayed_trust(trust double precision, clock timestamp with time zone, as_of timestamp with time zone, curve text, half_life_hours double precision, missing double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (trust IS NULL) THEN missing WHEN ((clock IS NULL) OR (clock >= as_of)) THEN trust ELSE (trust * CASE curve WHEN 'exponential'::text THEN exp(GREATEST((((- (0.6931471805599453)::double precision) * (date_part('epoch'::text, (as_of - clock)) / (3600)::double precision)) / COALESCE(half_life_hours, (168)::double precision)), (- (400)::double precision))) WHEN 'linear'::text THEN GREATEST((0)::double precision, ((1)::double precision - ((date_part('epoch'::text, (as_of - clock)) / (3600)::double precision) / ((2)::double precision * COALESCE(half_life_hours, (168)::double precision))))) ELSE ((1)::double precision / ((1)::double precision + ((date_part('epoch'::text, (as_of - clock)) / (3600)::double precision) / COALESCE(half_life_hours, (168)::double precision)))) END) END;

--
-- Name: FUNCTION decayed_trust(trust double precision, clock timestamp with time zone, as_of timestamp with time zone, curve text, half_life_hours double precision, missing double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.decayed_trust(trust double precision, clock timestamp with time zone, as_of timestamp with time zone, curve text, half_life_hours double precision, missing double precision) IS 'Trust after decay since clock by the row''s curve (hyperbolic, 168 hours where unknown); no clock, no decay; missing where never assessed.';

--
-- Name: drop_ranks(text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.drop_ranks(relation text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $_$
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS %I', relation);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$_$;

--
-- Name: FUNCTION drop_ranks(relation text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.drop_ranks(relation text) IS 'Drops the table of a rank index; false where somebody still reads it: the next maintenance will.';

--
-- Name: entity_overlap(text[], text[]); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.entity_overlap(entities text[], query text[]) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (entities && query) THEN ((((((COALESCE((((query)[1] = ANY (entities)))::integer, 0) + COALESCE((((query)[2] = ANY (entities)))::integer, 0)) + COALESCE((((query)[3] = ANY (entities)))::integer, 0)) + COALESCE((((query)[4] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[5] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[5] = ANY (entities)))::integer, 0) + COALESCE((((query)[6] = ANY (entities)))::integer, 0)) + COALESCE((((query)[7] = ANY (entities)))::integer, 0)) + COALESCE((((query)[8] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[9] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[9] = ANY (entities)))::integer, 0) + COALESCE((((query)[10] = ANY (entities)))::integer, 0)) + COALESCE((((query)[11] = ANY (entities)))::integer, 0)) + COALESCE((((query)[12] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[13] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[13] = ANY (entities)))::integer, 0) + COALESCE((((query)[14] = ANY (entities)))::integer, 0)) + COALESCE((((query)[15] = ANY (entities)))::integer, 0)) + COALESCE((((query)[16] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[17] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[17] = ANY (entities)))::integer, 0) + COALESCE((((query)[18] = ANY (entities)))::integer, 0)) + COALESCE((((query)[19] = ANY (entities)))::integer, 0)) + COALESCE((((query)[20] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[21] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[21] = ANY (entities)))::integer, 0) + COALESCE((((query)[22] = ANY (entities)))::integer, 0)) + COALESCE((((query)[23] = ANY (entities)))::integer, 0)) + COALESCE((((query)[24] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[25] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[25] = ANY (entities)))::integer, 0) + COALESCE((((query)[26] = ANY (entities)))::integer, 0)) + COALESCE((((query)[27] = ANY (entities)))::integer, 0)) + COALESCE((((query)[28] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[29] IS NULL) THEN 0 ELSE (((COALESCE((((query)[29] = ANY (entities)))::integer, 0) + COALESCE((((query)[30] = ANY (entities)))::integer, 0)) + COALESCE((((query)[31] = ANY (entities)))::integer, 0)) + COALESCE((((query)[32] = ANY (entities)))::integer, 0)) END) END) END) END) END) END) END))::double precision / (cardinality(query))::double precision) ELSE (0)::double precision END;

--
-- Name: FUNCTION entity_overlap(entities text[], query text[]); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.entity_overlap(entities text[], query text[]) IS 'Share of the query''s entities that the memory has; the query holds at most 32, each once; 0 without any.';

--
-- Name: event_id(); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.event_id() RETURNS uuid
    LANGUAGE sql PARALLEL SAFE
    RETURN (encode(set_bit(set_bit(OVERLAY(uuid_send(gen_random_uuid()) PLACING SUBSTRING(int8send((floor((date_part('epoch'::text, clock_timestamp()) * (1000)::double precision)))::bigint) FROM 3) FROM 1 FOR 6), (52)::bigint, 1), (53)::bigint, 1), 'hex'::text))::uuid;

--
-- Name: FUNCTION event_id(); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.event_id() IS 'A new id for an event made by the server: a UUID of version 7, so that later ones sort later.';

--
-- Name: folded(text, text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.folded(content text, joint text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(regexp_replace(regexp_replace(NORMALIZE(regexp_replace(NORMALIZE(regexp_replace(content, '(\S{200})'::text, '\1 '::text, 'g'::text), NFKD), '[\u0300-\u036f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+'::text, ''::text, 'g'::text), NFKC), '(\d),(?=\d{3}(?!\d))'::text, '\1'::text, 'g'::text), ':?/+|(?<=\S)[-+](?=\d)|\+(?=\d)'::text, joint, 'g'::text), '([\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])'::text, ('\1'::text || joint), 'g'::text);

--
-- Name: FUNCTION folded(content text, joint text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.folded(content text, joint text) IS 'The text without accents and in one way of writing numbers, ready to be taken apart into words.';

--
-- Name: forget_positions(text, uuid[]); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.forget_positions(agent text, ids uuid[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $_$
DECLARE
    caller text := coalesce(nullif(current_setting('role'), 'none'), session_user);
    found text;
    forgotten bigint := 0;
BEGIN
    IF NOT has_table_privilege(caller, 'agent_memories', 'DELETE') THEN
        RAISE EXCEPTION 'permission denied for table agent_memories'
            USING ERRCODE = 'insufficient_privilege';
    ELSIF row_security_active('agent_memories') THEN
        RAISE EXCEPTION 'the owner of the schema is subject to row-level security and cannot see '
            'which memories are gone'
            USING ERRCODE = 'insufficient_privilege',
                  HINT = 'Do not FORCE row-level security; let the application use another role.';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(format(
        'pgrecall positions %s %s', current_schema(), agent), 0));
    SELECT r.relation INTO found FROM rank_indexes r WHERE r.agent_id = agent;
    IF found IS NULL THEN
        RETURN 0;
    ELSIF found !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', found
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ids IS NULL AND NOT EXISTS (SELECT FROM agent_memories m WHERE m.agent_id = agent) THEN
        DELETE FROM rank_indexes r WHERE r.agent_id = agent;
    END IF;
    BEGIN
        EXECUTE format($$
            DELETE FROM %I p
             WHERE ($1 IS NULL OR p.memory_id = ANY ($1))
               AND NOT EXISTS (SELECT FROM agent_memories m
                                WHERE m.agent_id = $2 AND m.id = p.memory_id) $$, found)
            USING ids, agent;
        GET DIAGNOSTICS forgotten = ROW_COUNT;
    EXCEPTION WHEN undefined_table THEN
        NULL;
    END;
    RETURN forgotten;
END
$_$;

--
-- Name: FUNCTION forget_positions(agent text, ids uuid[]); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.forget_positions(agent text, ids uuid[]) IS 'Deletes the positions of memories that were deleted from their owner''s rank index; without ids all such, and where no memory is left the index is no longer used. For roles that may delete memories.';

--
-- Name: frequency(integer, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.frequency(retrieval_count integer, cap double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN LEAST(((COALESCE(retrieval_count, 0))::double precision / cap), (1)::double precision);

--
-- Name: FUNCTION frequency(retrieval_count integer, cap double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.frequency(retrieval_count integer, cap double precision) IS 'Retrievals as a share of cap, at most 1; a memory never retrieved has 0.';

--
-- Name: greedy_clusters(integer[], integer[], integer[], integer); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.greedy_clusters(centres integer[], counts integer[], near integer[], min_size integer) RETURNS TABLE(cluster integer, place integer, member integer)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
DECLARE
    many integer := coalesce(cardinality(centres), 0);
    taken boolean[];
    first integer := 1;
    found integer[];
BEGIN
    cluster := 0;
    taken := array_fill(false, ARRAY[coalesce((SELECT max(c) FROM unnest(centres) c), 0)]);
    FOR n IN 1 .. many LOOP
        EXIT WHEN counts[n] + 1 < min_size;
        IF NOT taken[centres[n]] THEN
            found := ARRAY[centres[n]];
            FOR i IN first .. first + counts[n] - 1 LOOP
                IF NOT taken[near[i]] THEN
                    found := found || near[i];
                END IF;
            END LOOP;
            IF cardinality(found) >= min_size THEN
                cluster := cluster + 1;
                FOR i IN 1 .. cardinality(found) LOOP
                    taken[found[i]] := true;
                    place := i;
                    member := found[i];
                    RETURN NEXT;
                END LOOP;
            END IF;
        END IF;
        first := first + counts[n];
    END LOOP;
END
$$;

--
-- Name: FUNCTION greedy_clusters(centres integer[], counts integer[], near integer[], min_size integer); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.greedy_clusters(centres integer[], counts integer[], near integer[], min_size integer) IS 'Groups of at least min_size: each centre in order, with those of its neighbours that no earlier one took. counts: how many neighbours each centre has, most first; near: the neighbours of the first centre, then of the second, ….';

--
-- Name: guard_positions(text, text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.guard_positions(relation text, agent text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $_$
DECLARE
    owner name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class c
                    WHERE c.oid = 'agent_memories'::regclass);
    privilege text;
    role text;
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', left(relation, 100)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR role, privilege IN
        SELECT DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC'
                        ELSE quote_ident(pg_get_userbyid(g.grantee)) END, g.privilege_type
          FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) g
         WHERE c.oid = 'agent_memories'::regclass
           AND g.privilege_type IN ('SELECT', 'DELETE') LOOP
        IF privilege = 'DELETE' THEN
            CONTINUE WHEN NOT pg_has_role(owner, 'USAGE') OR role = quote_ident(owner);
            EXECUTE format('GRANT EXECUTE ON FUNCTION forget_positions TO %s', role);
        ELSIF role <> quote_ident(current_user) THEN
            EXECUTE format('GRANT SELECT ON %I TO %s', relation, role);
        END IF;
    END LOOP;
    IF owner <> current_user THEN
        EXECUTE format('GRANT SELECT, DELETE ON %I TO %I', relation, owner);
    END IF;
    IF (SELECT c.relrowsecurity FROM pg_class c
         WHERE c.oid = 'agent_memories'::regclass) THEN
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', relation);
        EXECUTE format('CREATE POLICY of_their_memories ON %I FOR SELECT USING (EXISTS ('
                       'SELECT FROM agent_memories m WHERE m.agent_id = %L AND m.id = memory_id))',
                       relation, agent);
        IF owner <> current_user THEN
            EXECUTE format('CREATE POLICY of_the_owner ON %I TO %I USING (true)', relation, owner);
        END IF;
    END IF;
END
$_$;

--
-- Name: FUNCTION guard_positions(relation text, agent text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.guard_positions(relation text, agent text) IS 'Gives a new table of positions the grants and the row-level security of the memories it is made from, and lets those who may delete memories call forget_positions.';

--
-- Name: has_missed(text, public.halfvec, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.has_missed(relation text, meaning public.halfvec, likeness double precision, met double precision, best double precision) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
DECLARE
    nearest float8;
BEGIN
    IF likeness IS NULL OR met >= likeness * "public".l2_norm(meaning) THEN
        RETURN false;
    END IF;
    nearest := nearest_landmark(relation, meaning);
    RETURN coalesce(nearest > 1.25 * coalesce(met, 0) AND nearest > coalesce(best, 0) / 8, false);
END
$$;

--
-- Name: FUNCTION has_missed(relation text, meaning public.halfvec, likeness double precision, met double precision, best double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.has_missed(relation text, meaning public.halfvec, likeness double precision, met double precision, best double precision) IS 'Whether a walk has missed a group of memories: what it has met has at most this inner product with the meaning of the query, which is less than usual, the likeness of this rank index, and clearly less than that of a landmark; and meaning makes a difference beside the best inner product with all of the query.';

--
-- Name: history(text, uuid); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.history(agent text, memory_id uuid) RETURNS TABLE(id uuid, occurred_at timestamp with time zone, event_type text, reason text, actor text, old_trust double precision, new_trust double precision, trust_delta double precision, provenance_delta double precision, consensus_delta double precision, governance_delta double precision, usage_delta double precision, old_values jsonb, new_values jsonb, metadata jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    this_id uuid := history.memory_id;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT h.id, h.occurred_at, h.event_type, h.reason, h.actor,
           (h.old_values ->> 'trust')::float8, (h.new_values ->> 'trust')::float8,
           (h.new_values ->> 'trust')::float8 - (h.old_values ->> 'trust')::float8,
           (h.new_values ->> 'trust_provenance')::float8 - (h.old_values ->> 'trust_provenance')::float8,
           (h.new_values ->> 'trust_consensus')::float8 - (h.old_values ->> 'trust_consensus')::float8,
           (h.new_values ->> 'trust_governance')::float8 - (h.old_values ->> 'trust_governance')::float8,
           (h.new_values ->> 'trust_usage')::float8 - (h.old_values ->> 'trust_usage')::float8,
           h.old_values, h.new_values, h.metadata
      FROM (
    SELECT memory_events.id, memory_events.memory_id, memory_events.event_type, memory_events.reason, memory_events.actor, coalesce(memory_events.old_values, '{}'::jsonb) AS old_values, coalesce(memory_events.new_values, '{}'::jsonb) AS new_values, memory_events.metadata, memory_events.occurred_at
    FROM memory_events
    WHERE memory_events.agent_id = owner_id AND memory_events.memory_id = this_id ORDER BY memory_events.occurred_at, memory_events.id) h
     ORDER BY h.occurred_at, h.id;
END
$$;

--
-- Name: FUNCTION history(agent text, memory_id uuid); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.history(agent text, memory_id uuid) IS 'What happened to a memory of an owner, oldest first, with what it did to trust.';

--
-- Name: initial_trust(double precision, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.initial_trust(provenance double precision, consensus double precision, governance double precision, usage double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN LEAST((((((0.3)::double precision * provenance) + ((0.25)::double precision * consensus)) + ((0.3)::double precision * governance)) + ((0.15)::double precision * usage)), (1)::double precision);

--
-- Name: FUNCTION initial_trust(provenance double precision, consensus double precision, governance double precision, usage double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.initial_trust(provenance double precision, consensus double precision, governance double precision, usage double precision) IS 'Trust on write: 0.30 provenance + 0.25 consensus + 0.30 governance + 0.15 usage.';

--
-- Name: invalidate_memories(text, uuid[], text, text, jsonb); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.invalidate_memories(agent text, memory_ids uuid[], reason text DEFAULT NULL::text, actor text DEFAULT NULL::text, metadata jsonb DEFAULT '{}'::jsonb) RETURNS TABLE(id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    ids uuid[] := memory_ids;
    note_reason text := reason;
    note_actor text := coalesce(actor, session_user);
    note_metadata jsonb := coalesce(metadata, '{}'::jsonb);
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (actor = '' IS TRUE OR jsonb_typeof(coalesce(metadata, '{}'::jsonb)) <> 'object') IS NOT FALSE THEN
        RAISE EXCEPTION 'actor must not be empty and metadata must be a JSON object, got % and %', actor, metadata
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH locked AS
    (SELECT agent_memories.id AS id, agent_memories.invalidated_at AS invalidated_at, agent_memories.invalidation_reason AS invalidation_reason
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.id = ANY (CAST(ids AS UUID[])) AND (agent_memories.invalidated_at IS NULL OR agent_memories.invalidated_at > now()) ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    changed AS
    (UPDATE agent_memories SET updated_at=now(), invalidated_at=now(), invalidation_reason='forgotten' FROM locked WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id RETURNING agent_memories.id, jsonb_build_object('invalidated_at', locked.invalidated_at, 'invalidation_reason', locked.invalidation_reason) AS old_values, jsonb_build_object('invalidated_at', agent_memories.invalidated_at, 'invalidation_reason', agent_memories.invalidation_reason) AS new_values, 'forgotten' AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
END
$$;

--
-- Name: FUNCTION invalidate_memories(agent text, memory_ids uuid[], reason text, actor text, metadata jsonb); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.invalidate_memories(agent text, memory_ids uuid[], reason text, actor text, metadata jsonb) IS 'Forgets memories of an agent: they stay, but are not recalled from now on.';

--
-- Name: is_valid(timestamp with time zone, timestamp with time zone, timestamp with time zone, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.is_valid(valid_from timestamp with time zone, valid_until timestamp with time zone, invalidated_at timestamp with time zone, expires_at timestamp with time zone, as_of timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((valid_from IS NULL) OR (valid_from <= as_of)) AND ((valid_until IS NULL) OR (valid_until > as_of)) AND ((invalidated_at IS NULL) OR (invalidated_at > as_of)) AND ((expires_at IS NULL) OR (expires_at > as_of)));

--
-- Name: FUNCTION is_valid(valid_from timestamp with time zone, valid_until timestamp with time zone, invalidated_at timestamp with time zone, expires_at timestamp with time zone, as_of timestamp with time zone); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.is_valid(valid_from timestamp with time zone, valid_until timestamp with time zone, invalidated_at timestamp with time zone, expires_at timestamp with time zone, as_of timestamp with time zone) IS 'Whether a memory holds at as_of: inside [valid_from, valid_until), not invalidated, not expired.';

--
-- Name: keyword_shares(text[], text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.keyword_shares(owners text[], query_text text) RETURNS TABLE(agent_id text, memory_id uuid, share double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $_$
#variable_conflict use_column
DECLARE
    one text;
    total bigint;
    terms text[];
BEGIN
    EXECUTE 'SELECT ARRAY(SELECT term FROM query_terms($1))' INTO terms USING query_text;
    FOR one IN SELECT DISTINCT each FROM unnest(owners) each LOOP
        total := memories_of(one);
        RETURN QUERY
        WITH asked AS MATERIALIZED (
            SELECT term_key(one, q.term) AS key
              FROM unnest(terms) q(term)
        ), found AS MATERIALIZED (
            SELECT a.key, t.memory_id
              FROM asked a
             CROSS JOIN LATERAL (
                SELECT m.id AS memory_id FROM agent_memories m
                 WHERE term_keys(m.agent_id, m.terms) @> ARRAY[a.key] AND m.agent_id = one
                OFFSET 0) t
        ), weighed AS MATERIALIZED (
            SELECT a.key, term_weight(coalesce(c.memories, 0), total) AS weight
              FROM asked a
              LEFT JOIN (SELECT key, count(*) AS memories FROM found GROUP BY key) c
                ON c.key = a.key
        )
        SELECT one, f.memory_id,
               least(sum(w.weight) / (SELECT sum(weight) FROM weighed), 1)
          FROM found f
          JOIN weighed w ON w.key = f.key
         GROUP BY f.memory_id;
    END LOOP;
END
$_$;

--
-- Name: FUNCTION keyword_shares(owners text[], query_text text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.keyword_shares(owners text[], query_text text) IS 'The keyword signal of every memory that has a term of the query, by owner: the weights of the terms it has as a share of those of all terms.';

--
-- Name: text_language(); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.text_language() RETURNS regconfig
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'english'::regconfig;

--
-- Name: FUNCTION text_language(); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.text_language() IS 'The language by which words are compared; changed by change_text_language.';

--
-- Name: lexemes(text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.lexemes(content text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_tsvector(pgrecall.text_language(), "left"(regexp_replace(pgrecall.folded("left"(content, 100000), ' '::text), '-(?=\d)'::text, ' '::text, 'g'::text), 100000));

--
-- Name: FUNCTION lexemes(content text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.lexemes(content text) IS 'The words of the first 100,000 characters of a text, as they are compared: by the language of this schema, without stop words, accents and signs.';

--
-- Name: meaning(public.halfvec); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.meaning(query public.halfvec) RETURNS public.halfvec
    LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
DECLARE
    length integer := (SELECT atttypmod FROM pg_attribute
                        WHERE attrelid = to_regclass('agent_memories') AND attname = 'embedding');
BEGIN
    RETURN "public".subvector(query, 1, length)
           OPERATOR("public".||) array_fill(0::real, ARRAY["public".vector_dims(query) - length])::"public".halfvec;
END
$$;

--
-- Name: FUNCTION meaning(query public.halfvec); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.meaning(query public.halfvec) IS 'What a query in the rank space asks of embeddings, without what it asks of other signals.';

--
-- Name: memories_of(text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.memories_of(agent text) RETURNS bigint
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    SET enable_indexscan TO 'on'
    SET enable_seqscan TO 'on'
    SET max_parallel_workers_per_gather TO '0'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    RETURN (SELECT count(*) FROM agent_memories m WHERE m.agent_id = agent);
END
$$;

--
-- Name: FUNCTION memories_of(agent text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.memories_of(agent text) IS 'How many memories an owner has, whatever their status.';

--
-- Name: near_positions(text, public.halfvec, integer, integer, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.near_positions(relation text, query public.halfvec, candidates integer, reach integer, likeness double precision) RETURNS TABLE(memory_id uuid)
    LANGUAGE plpgsql ROWS 200
    SET search_path TO 'pgrecall', 'pg_temp'
    SET "hnsw.ef_search" TO '40'
    SET "hnsw.iterative_scan" TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'on'
    AS $_$
DECLARE
    asked "public".halfvec := meaning(query);
    walked integer := greatest(candidates, reach);
    all_compared boolean := false;
    ids uuid[];
    met float8;
    best float8;
BEGIN
    LOOP
        PERFORM set_config('hnsw.ef_search', walked::text, true);
        EXECUTE format($$
            WITH near AS MATERIALIZED (
                SELECT memory_id, -(position OPERATOR("public".<#>) $1) AS score, -(position OPERATOR("public".<#>) $2) AS alike
                  FROM %I ORDER BY position OPERATOR("public".<#>) $1 LIMIT $3
            )
            SELECT array_agg(memory_id ORDER BY score DESC), max(alike), max(score)
              FROM near $$, relation)
            INTO ids, met, best USING query, asked, walked;
        EXIT WHEN all_compared OR NOT has_missed(relation, asked, likeness, met, best);
        IF walked = 1000 THEN
            all_compared := true;
            PERFORM set_config('enable_indexscan', 'off', true),
                    set_config('enable_seqscan', 'on', true);
        END IF;
        walked := least(4 * walked, 1000);
    END LOOP;
    RETURN QUERY SELECT unnest(ids[:candidates]);
END
$_$;

--
-- Name: FUNCTION near_positions(relation text, query public.halfvec, candidates integer, reach integer, likeness double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.near_positions(relation text, query public.halfvec, candidates integer, reach integer, likeness double precision) IS 'Memories of a rank index whose positions have the largest inner products with the query, the largest first, as far as a walk through its graph finds them, or all of them show where it has missed some. At most 1000.';

--
-- Name: nearest_landmark(text, public.halfvec); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.nearest_landmark(relation text, meaning public.halfvec) RETURNS double precision
    LANGUAGE plpgsql STABLE STRICT
    SET search_path TO 'pgrecall', 'pg_temp'
    SET enable_tidscan TO 'on'
    AS $_$
DECLARE
    landmarks tid := (
        SELECT format('(%s,0)', ceil(
                   pg_relation_size(oid) / current_setting('block_size')::float8
                   * least(2000 / greatest(reltuples, 1), 0.04)))
          FROM pg_class WHERE oid = to_regclass(relation));
    largest float8;
BEGIN
    EXECUTE format($$
        SELECT max(-(position OPERATOR("public".<#>) $1)) FROM %I WHERE ctid < $2 $$, relation)
        INTO largest USING meaning, landmarks;
    RETURN nullif(greatest(largest, 0), 0);
END
$_$;

--
-- Name: FUNCTION nearest_landmark(relation text, meaning public.halfvec); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.nearest_landmark(relation text, meaning public.halfvec) IS 'The largest inner product of a meaning with one of the landmarks of a rank index, which are some of its positions, at most 2000 or so; NULL where none is positive.';

--
-- Name: owners_of_memories(boolean); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.owners_of_memories(with_leftovers boolean DEFAULT false) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    found_owners text[] := '{}';
BEGIN
    found_owners := ARRAY(
    WITH RECURSIVE found(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT agent_memories.agent_id AS owner_id
    FROM agent_memories ORDER BY agent_memories.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT agent_memories.agent_id
    FROM agent_memories
    WHERE agent_memories.agent_id > found.owner_id ORDER BY agent_memories.agent_id
     LIMIT 1) AS anon_1
    FROM found
    WHERE found.owner_id IS NOT NULL)
     SELECT every.owner_id
    FROM (SELECT found.owner_id AS owner_id
    FROM found
    WHERE found.owner_id IS NOT NULL ORDER BY found.owner_id) AS every
    WHERE NOT starts_with(every.owner_id, 'team:') ORDER BY every.owner_id) || ARRAY(
    WITH RECURSIVE found(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT agent_memories.agent_id AS owner_id
    FROM agent_memories ORDER BY agent_memories.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT agent_memories.agent_id
    FROM agent_memories
    WHERE agent_memories.agent_id > found.owner_id ORDER BY agent_memories.agent_id
     LIMIT 1) AS anon_1
    FROM found
    WHERE found.owner_id IS NOT NULL)
     SELECT every.owner_id
    FROM (SELECT found.owner_id AS owner_id
    FROM found
    WHERE found.owner_id IS NOT NULL ORDER BY found.owner_id) AS every
    WHERE starts_with(every.owner_id, 'team:') ORDER BY every.owner_id);
    IF with_leftovers THEN
        found_owners := found_owners
            || ARRAY(
    WITH RECURSIVE names_of_memory_usage(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_usage.agent_id AS owner_id
    FROM memory_usage ORDER BY memory_usage.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_usage.agent_id
    FROM memory_usage
    WHERE memory_usage.agent_id > names_of_memory_usage.owner_id ORDER BY memory_usage.agent_id
     LIMIT 1) AS anon_1
    FROM names_of_memory_usage
    WHERE names_of_memory_usage.owner_id IS NOT NULL),
    names_of_memory_labels(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_labels.agent_id AS owner_id
    FROM memory_labels ORDER BY memory_labels.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_labels.agent_id
    FROM memory_labels
    WHERE memory_labels.agent_id > names_of_memory_labels.owner_id ORDER BY memory_labels.agent_id
     LIMIT 1) AS anon_2
    FROM names_of_memory_labels
    WHERE names_of_memory_labels.owner_id IS NOT NULL),
    names_of_memory_links(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_links.agent_id AS owner_id
    FROM memory_links ORDER BY memory_links.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_links.agent_id
    FROM memory_links
    WHERE memory_links.agent_id > names_of_memory_links.owner_id ORDER BY memory_links.agent_id
     LIMIT 1) AS anon_3
    FROM names_of_memory_links
    WHERE names_of_memory_links.owner_id IS NOT NULL)
     SELECT names.owner_id
    FROM ((SELECT names_of_memory_usage.owner_id AS owner_id
    FROM names_of_memory_usage
    WHERE names_of_memory_usage.owner_id IS NOT NULL ORDER BY names_of_memory_usage.owner_id) UNION (SELECT names_of_memory_labels.owner_id AS owner_id
    FROM names_of_memory_labels
    WHERE names_of_memory_labels.owner_id IS NOT NULL ORDER BY names_of_memory_labels.owner_id) UNION (SELECT names_of_memory_links.owner_id AS owner_id
    FROM names_of_memory_links
    WHERE names_of_memory_links.owner_id IS NOT NULL ORDER BY names_of_memory_links.owner_id)) AS names
    WHERE NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = names.owner_id)) AND NOT starts_with(names.owner_id, 'team:') ORDER BY names.owner_id) || ARRAY(
    WITH RECURSIVE names_of_memory_usage(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_usage.agent_id AS owner_id
    FROM memory_usage ORDER BY memory_usage.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_usage.agent_id
    FROM memory_usage
    WHERE memory_usage.agent_id > names_of_memory_usage.owner_id ORDER BY memory_usage.agent_id
     LIMIT 1) AS anon_1
    FROM names_of_memory_usage
    WHERE names_of_memory_usage.owner_id IS NOT NULL),
    names_of_memory_labels(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_labels.agent_id AS owner_id
    FROM memory_labels ORDER BY memory_labels.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_labels.agent_id
    FROM memory_labels
    WHERE memory_labels.agent_id > names_of_memory_labels.owner_id ORDER BY memory_labels.agent_id
     LIMIT 1) AS anon_2
    FROM names_of_memory_labels
    WHERE names_of_memory_labels.owner_id IS NOT NULL),
    names_of_memory_links(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_links.agent_id AS owner_id
    FROM memory_links ORDER BY memory_links.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_links.agent_id
    FROM memory_links
    WHERE memory_links.agent_id > names_of_memory_links.owner_id ORDER BY memory_links.agent_id
     LIMIT 1) AS anon_3
    FROM names_of_memory_links
    WHERE names_of_memory_links.owner_id IS NOT NULL)
     SELECT names.owner_id
    FROM ((SELECT names_of_memory_usage.owner_id AS owner_id
    FROM names_of_memory_usage
    WHERE names_of_memory_usage.owner_id IS NOT NULL ORDER BY names_of_memory_usage.owner_id) UNION (SELECT names_of_memory_labels.owner_id AS owner_id
    FROM names_of_memory_labels
    WHERE names_of_memory_labels.owner_id IS NOT NULL ORDER BY names_of_memory_labels.owner_id) UNION (SELECT names_of_memory_links.owner_id AS owner_id
    FROM names_of_memory_links
    WHERE names_of_memory_links.owner_id IS NOT NULL ORDER BY names_of_memory_links.owner_id)) AS names
    WHERE NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = names.owner_id)) AND starts_with(names.owner_id, 'team:') ORDER BY names.owner_id);
    END IF;
    RETURN found_owners;
END
$$;

--
-- Name: FUNCTION owners_of_memories(with_leftovers boolean); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.owners_of_memories(with_leftovers boolean) IS 'Who has memories, agents first and then teams; with_leftovers: also who only has what memories left behind.';

--
-- Name: pack(double precision[], integer[], text[], integer, integer, double precision, integer, text[], double precision[], double precision[], double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.pack(scores double precision[], costs integer[], types text[], budget integer, most integer, floor double precision DEFAULT 0, max_skips integer DEFAULT 3, reserved_types text[] DEFAULT '{}'::text[], reserved_shares double precision[] DEFAULT '{}'::double precision[], alike double precision[] DEFAULT NULL::double precision[], diversity double precision DEFAULT 0, max_similarity double precision DEFAULT NULL::double precision) RETURNS TABLE(place integer, verdict text, step integer, near integer)
    LANGUAGE plpgsql IMMUTABLE ROWS 60 PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    size integer := coalesce(cardinality(scores), 0);
    eligible integer := 0;
    verdicts text[] := array_fill(NULL::text, ARRAY[size]);
    steps integer[] := array_fill(NULL::integer, ARRAY[size]);
    nearest float8[] := array_fill(0::float8, ARRAY[size]);
    nearest_to integer[] := array_fill(NULL::integer, ARRAY[size]);
    -- Of each reserved type: what is left of its share, and what memories that may still go in
    -- would take of it. What they cannot fill is free for all.
    reserves bigint[] := '{}';
    waiting bigint[] := '{}';
    kept bigint;
    spent bigint := 0;
    taken integer := 0;
    skipped integer := 0;
    looked_at integer := 0;
    kept_back integer[];
    best float8;
    gain float8;
    this integer;
    reserve integer;
BEGIN
    WHILE eligible < size AND scores[eligible + 1] >= floor LOOP
        eligible := eligible + 1;
    END LOOP;
    FOR r IN 1 .. cardinality(reserved_types) LOOP
        reserves[r] := floor(reserved_shares[r] * budget)::bigint;
        waiting[r] := (SELECT coalesce(sum(c), 0)
                         FROM unnest(costs[:eligible], types[:eligible]) u(c, t)
                        WHERE t = reserved_types[r] AND c <= budget);
    END LOOP;
    WHILE taken < most LOOP
        IF kept_back IS NULL AND (skipped >= max_skips OR looked_at >= eligible) THEN
            -- Nothing else will be looked at: what was kept and not used is free for all.
            kept_back := ARRAY(SELECT one FROM unnest(verdicts, steps) WITH ORDINALITY u(v, s, one)
                                WHERE v = 'reserved' ORDER BY s);
            waiting := array_fill(0::bigint, ARRAY[cardinality(reserved_types)]);
        END IF;
        EXIT WHEN cardinality(kept_back) = 0;
        looked_at := looked_at + 1;
        IF kept_back IS NOT NULL THEN
            this := kept_back[1];
            kept_back := kept_back[2:];
        ELSE
            this := looked_at;
            IF diversity > 0 THEN
                best := NULL;
                FOR one IN 1 .. eligible LOOP
                    CONTINUE WHEN steps[one] IS NOT NULL;
                    gain := (1 - diversity) * scores[one] - diversity * nearest[one];
                    IF best IS NULL OR gain > best THEN
                        best := gain;
                        this := one;
                    END IF;
                END LOOP;
            END IF;
            steps[this] := looked_at;
        END IF;
        reserve := array_position(reserved_types, types[this]);
        IF reserve IS NOT NULL AND costs[this] <= budget THEN
            waiting[reserve] := waiting[reserve] - costs[this];
        END IF;
        IF nearest[this] > max_similarity THEN
            verdicts[this] := coalesce(verdicts[this], 'near_duplicate');
            CONTINUE;
        END IF;
        IF spent + costs[this] > budget THEN
            verdicts[this] := coalesce(verdicts[this], 'too_long');
            skipped := skipped + 1;
            CONTINUE;
        END IF;
        kept := 0;
        FOR r IN 1 .. cardinality(reserved_types) LOOP
            IF r IS DISTINCT FROM reserve THEN
                kept := kept + greatest(least(reserves[r], waiting[r]), 0);
            END IF;
        END LOOP;
        IF spent + costs[this] + kept > budget THEN
            -- No skip: what the budget is kept for may be further down.
            verdicts[this] := 'reserved';
            IF reserve IS NOT NULL THEN
                waiting[reserve] := waiting[reserve] + costs[this];
            END IF;
            CONTINUE;
        END IF;
        verdicts[this] := 'packed';
        steps[this] := looked_at;
        taken := taken + 1;
        skipped := 0;
        spent := spent + costs[this];
        IF reserve IS NOT NULL THEN
            reserves[reserve] := reserves[reserve] - costs[this];
        END IF;
        IF alike IS NOT NULL THEN
            FOR one IN 1 .. eligible LOOP
                IF coalesce(verdicts[one], 'reserved') = 'reserved'
                        AND alike[(this - 1) * size + one] > nearest[one] THEN
                    nearest[one] := alike[(this - 1) * size + one];
                    nearest_to[one] := this;
                END IF;
            END LOOP;
        END IF;
    END LOOP;
    RETURN QUERY
    SELECT p, coalesce(verdicts[p], CASE WHEN p > eligible THEN 'min_score'
                                         WHEN taken >= most THEN 'limit'
                                         ELSE 'stopped' END),
           steps[p], CASE WHEN verdicts[p] = 'near_duplicate' THEN nearest_to[p] END
      FROM generate_series(1, size) p;
END
$$;

--
-- Name: FUNCTION pack(scores double precision[], costs integer[], types text[], budget integer, most integer, floor double precision, max_skips integer, reserved_types text[], reserved_shares double precision[], alike double precision[], diversity double precision, max_similarity double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.pack(scores double precision[], costs integer[], types text[], budget integer, most integer, floor double precision, max_skips integer, reserved_types text[], reserved_shares double precision[], alike double precision[], diversity double precision, max_similarity double precision) IS 'Which of ranked memories go into a prompt: by score, best first, or by maximal marginal relevance, until the budget is spent, most are in, or max_skips in a row did not fit; last what was kept back for types that did not need it; and why the others do not.';

--
-- Name: query_terms(text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.query_terms(query_text text) RETURNS TABLE(term text)
    LANGUAGE sql IMMUTABLE ROWS 8 PARALLEL SAFE
    BEGIN ATOMIC
 SELECT word.lexeme
    FROM unnest(pgrecall.lexemes(query_terms.query_text)) word(lexeme, positions, weights)
   ORDER BY word.positions[1], word.lexeme
  LIMIT 1000;
END;

--
-- Name: FUNCTION query_terms(query_text text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.query_terms(query_text text) IS 'The distinct terms of a query in the order in which they first come, at most 1000; none where all are stop words.';

--
-- Name: rank_candidates(text, text, text, integer, timestamp with time zone, timestamp with time zone, integer, double precision, text[], bigint[], double precision[]); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.rank_candidates(agent text, relation text, query text, candidates integer, written_since timestamp with time zone, used_since timestamp with time zone, reach integer DEFAULT 0, keyword_weight double precision DEFAULT 0, terms text[] DEFAULT '{}'::text[], memories bigint[] DEFAULT '{}'::bigint[], weights double precision[] DEFAULT '{}'::double precision[]) RETURNS TABLE(memory_id uuid, from_index boolean)
    LANGUAGE plpgsql ROWS 200
    SET search_path TO 'pgrecall', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    owned bigint;
    likeness float8;
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT has_table_privilege('memory_events', 'SELECT') OR NOT coalesce(
            has_table_privilege(to_regclass(relation), 'SELECT'), false) THEN
        RETURN;
    END IF;
    -- None where a former version built the index; no words where the language was another one then.
    SELECT r.likeness, r.term_memories INTO likeness, owned FROM rank_indexes r
     WHERE r.agent_id = agent AND r.relation = rank_candidates.relation;
    IF cardinality(terms) = 0 OR NOT EXISTS (
            SELECT FROM pg_attribute
             WHERE attrelid = to_regclass(relation) AND attname = 'words') THEN
        owned := NULL;
    END IF;
    BEGIN
        IF owned IS NOT NULL THEN
            RETURN QUERY SELECT w.memory_id, true FROM worded_candidates(
                agent, relation, query, candidates, reach, keyword_weight,
                terms, memories, weights, owned, likeness) w;
        ELSE
            RETURN QUERY SELECT n.memory_id, true
                           FROM near_positions(
                               relation, query::"public".halfvec, candidates, reach, likeness) n;
            IF cardinality(terms) > 0 THEN
                RETURN QUERY SELECT w.memory_id, false FROM word_candidates(
                    agent, relation, query, keyword_weight,
                    terms, memories, weights, candidates) w;
            END IF;
        END IF;
    EXCEPTION WHEN undefined_table THEN
        NULL;
    END;
    RETURN QUERY SELECT m.id, false FROM agent_memories m
                  WHERE m.agent_id = agent AND m.inserted_at >= written_since;
    RETURN QUERY SELECT e.memory_id, false FROM memory_events e
                  WHERE e.agent_id = agent AND e.occurred_at >= written_since
                    AND e.event_type <> 'initial';
    IF used_since IS NOT NULL THEN
        SET LOCAL enable_seqscan = on;
        RETURN QUERY SELECT u.memory_id, false FROM memory_usage u
                      WHERE u.last_accessed_at > used_since AND u.agent_id = agent;
    END IF;
END
$_$;

--
-- Name: FUNCTION rank_candidates(agent text, relation text, query text, candidates integer, written_since timestamp with time zone, used_since timestamp with time zone, reach integer, keyword_weight double precision, terms text[], memories bigint[], weights double precision[]); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.rank_candidates(agent text, relation text, query text, candidates integer, written_since timestamp with time zone, used_since timestamp with time zone, reach integer, keyword_weight double precision, terms text[], memories bigint[], weights double precision[]) IS 'Candidates for exact scoring: memories whose positions have the largest inner products with the query, or with words given the largest sums of that and their words'' weight, and those written or changed since, and used since where that is given; some twice. At most 1000 from the index.';

--
-- Name: recall_five_factor(text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text, text[], text[], boolean, double precision, double precision, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_five_factor(agent text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], labels text[] DEFAULT NULL::text[], label_kinds text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, text text DEFAULT NULL::text, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, similarity_weight double precision DEFAULT 0.4, recency_weight double precision DEFAULT 0.25, usefulness_weight double precision DEFAULT 0.2, confidence_weight double precision DEFAULT 0.1, frequency_weight double precision DEFAULT 0.05) RETURNS TABLE(agent_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_similarity double precision, signal_recency double precision, signal_usefulness double precision, signal_confidence double precision, signal_frequency double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
    owners text[] := array_prepend(agent, ARRAY(SELECT 'team:' || t FROM unnest(teams) t));
    asked tsquery := word_filter(recall_five_factor.text);
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT coalesce(label_kinds, '{}') <@ '{keyword,tag,concept,component}'::text[]
       OR label_kinds IS NOT NULL AND labels IS NULL THEN
        RAISE EXCEPTION 'label_kinds may be keyword, tag, concept, component and need labels, got %',
            label_kinds
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND (usefulness_weight = 0 OR usefulness_weight >= 1e-12::float8)
        AND (confidence_weight = 0 OR confidence_weight >= 1e-12::float8)
        AND (frequency_weight = 0 OR frequency_weight >= 1e-12::float8)
        AND abs(similarity_weight + recency_weight + usefulness_weight + confidence_weight + frequency_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', similarity_weight + recency_weight + usefulness_weight + confidence_weight + frequency_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query OPERATOR("public".<=>) query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(recall_five_factor.text) > 10000 THEN
        RAISE EXCEPTION 'text may have at most 10000 characters, got %',
            length(recall_five_factor.text)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF numnode(asked) = 0 THEN
        recall_five_factor.text := NULL;
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT m.agent_id, m.id,
               similarity_weight * similarity(m.embedding, query, 0.0)
               + recency_weight * recency_exponential(m.created_at, moment, 0.05, 0.5)
               + usefulness_weight * m.usefulness
               + confidence_weight * m.confidence
               + frequency_weight * frequency(u.retrieval_count, 50) AS score
          FROM agent_memories m
          LEFT JOIN memory_usage u
            ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
         WHERE m.agent_id = ANY (owners)
           AND (include_invalid OR is_valid(
                  m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
           AND (recall_five_factor.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
           AND m.status = ANY (statuses)
           AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                OR m.additional_types && memory_types)
           AND (tiers IS NULL OR m.tier = ANY (tiers))
           AND (recall_five_factor.tags IS NULL OR m.tags && recall_five_factor.tags)
           AND (all_tags IS NULL OR m.tags @> all_tags)
           AND (recall_five_factor.entities IS NULL OR m.entities && recall_five_factor.entities)
           AND (all_entities IS NULL OR m.entities @> all_entities)
           AND (labels IS NULL OR EXISTS (
                  SELECT FROM memory_labels l
                   WHERE l.agent_id = m.agent_id AND l.memory_id = m.id AND l.value = ANY (labels)
                     AND l.agent_id = ANY (owners)
                     AND (label_kinds IS NULL OR l.kind = ANY (label_kinds))))
           AND (recall_five_factor.text IS NULL OR m.terms @@ asked)
           AND (recall_five_factor.metadata IS NULL OR m.metadata @> recall_five_factor.metadata)
           AND (created_after IS NULL OR m.created_at >= created_after)
           AND (created_before IS NULL OR m.created_at < created_before)
           AND (components IS NULL OR m.component = ANY (components))
           AND (output_types IS NULL OR m.output_type = ANY (output_types))
           AND (domains IS NULL OR m.domain = ANY (domains))
           AND (categories IS NULL OR m.category = ANY (categories))
           AND (loops IS NULL OR m.loop = ANY (loops))
           AND (recall_five_factor.compliant IS NULL OR m.compliant = recall_five_factor.compliant)
           AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
           AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
         ORDER BY score DESC, m.id
         LIMIT k
    )
    SELECT m.agent_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.0),
           recency_exponential(m.created_at, moment, 0.05, 0.5),
           m.usefulness,
           m.confidence,
           frequency(u.retrieval_count, 50)
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id
      LEFT JOIN memory_usage u
        ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
     WHERE min_score IS NULL OR r.score >= min_score
     ORDER BY r.score DESC, m.id;
END
$$;

--
-- Name: FUNCTION recall_five_factor(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, usefulness_weight double precision, confidence_weight double precision, frequency_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_five_factor(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, usefulness_weight double precision, confidence_weight double precision, frequency_weight double precision) IS 'The k best memories of an agent by the profile five_factor: 0.4 similarity + 0.25 recency + 0.2 usefulness + 0.1 confidence + 0.05 frequency.';

--
-- Name: recall_half_life(text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text, text[], text[], boolean, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_half_life(agent text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], labels text[] DEFAULT NULL::text[], label_kinds text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, text text DEFAULT NULL::text, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, similarity_weight double precision DEFAULT 0.4, recency_weight double precision DEFAULT 0.3, importance_weight double precision DEFAULT 0.3) RETURNS TABLE(agent_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_similarity double precision, signal_recency double precision, signal_importance double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
    owners text[] := array_prepend(agent, ARRAY(SELECT 'team:' || t FROM unnest(teams) t));
    asked tsquery := word_filter(recall_half_life.text);
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT coalesce(label_kinds, '{}') <@ '{keyword,tag,concept,component}'::text[]
       OR label_kinds IS NOT NULL AND labels IS NULL THEN
        RAISE EXCEPTION 'label_kinds may be keyword, tag, concept, component and need labels, got %',
            label_kinds
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND (importance_weight = 0 OR importance_weight >= 1e-12::float8)
        AND abs(similarity_weight + recency_weight + importance_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', similarity_weight + recency_weight + importance_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query OPERATOR("public".<=>) query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(recall_half_life.text) > 10000 THEN
        RAISE EXCEPTION 'text may have at most 10000 characters, got %',
            length(recall_half_life.text)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF numnode(asked) = 0 THEN
        recall_half_life.text := NULL;
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT m.agent_id, m.id,
               similarity_weight * similarity(m.embedding, query, 0.5)
               + recency_weight * recency_exponential(greatest(u.last_accessed_at, m.created_at), moment, 0.049510512897138946, 0.5)
               + importance_weight * m.importance AS score
          FROM agent_memories m
          LEFT JOIN memory_usage u
            ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
         WHERE m.agent_id = ANY (owners)
           AND (include_invalid OR is_valid(
                  m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
           AND (recall_half_life.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
           AND m.status = ANY (statuses)
           AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                OR m.additional_types && memory_types)
           AND (tiers IS NULL OR m.tier = ANY (tiers))
           AND (recall_half_life.tags IS NULL OR m.tags && recall_half_life.tags)
           AND (all_tags IS NULL OR m.tags @> all_tags)
           AND (recall_half_life.entities IS NULL OR m.entities && recall_half_life.entities)
           AND (all_entities IS NULL OR m.entities @> all_entities)
           AND (labels IS NULL OR EXISTS (
                  SELECT FROM memory_labels l
                   WHERE l.agent_id = m.agent_id AND l.memory_id = m.id AND l.value = ANY (labels)
                     AND l.agent_id = ANY (owners)
                     AND (label_kinds IS NULL OR l.kind = ANY (label_kinds))))
           AND (recall_half_life.text IS NULL OR m.terms @@ asked)
           AND (recall_half_life.metadata IS NULL OR m.metadata @> recall_half_life.metadata)
           AND (created_after IS NULL OR m.created_at >= created_after)
           AND (created_before IS NULL OR m.created_at < created_before)
           AND (components IS NULL OR m.component = ANY (components))
           AND (output_types IS NULL OR m.output_type = ANY (output_types))
           AND (domains IS NULL OR m.domain = ANY (domains))
           AND (categories IS NULL OR m.category = ANY (categories))
           AND (loops IS NULL OR m.loop = ANY (loops))
           AND (recall_half_life.compliant IS NULL OR m.compliant = recall_half_life.compliant)
           AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
           AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
         ORDER BY score DESC, m.id
         LIMIT k
    )
    SELECT m.agent_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.5),
           recency_exponential(greatest(u.last_accessed_at, m.created_at), moment, 0.049510512897138946, 0.5),
           m.importance
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id
      LEFT JOIN memory_usage u
        ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
     WHERE min_score IS NULL OR r.score >= min_score
     ORDER BY r.score DESC, m.id;
END
$$;

--
-- Name: FUNCTION recall_half_life(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, importance_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_half_life(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, importance_weight double precision) IS 'The k best memories of an agent by the profile half_life: 0.4 similarity + 0.3 recency + 0.3 importance.';

--
-- Name: recall_hybrid(text, text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text, text[], text[], boolean, double precision, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_hybrid(agent text, query_text text DEFAULT NULL::text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], labels text[] DEFAULT NULL::text[], label_kinds text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, text text DEFAULT NULL::text, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, similarity_weight double precision DEFAULT 0.6, keyword_weight double precision DEFAULT 0.3, recency_weight double precision DEFAULT 0.05, importance_weight double precision DEFAULT 0.05) RETURNS TABLE(agent_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_similarity double precision, signal_keyword double precision, signal_recency double precision, signal_importance double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
    owners text[] := array_prepend(agent, ARRAY(SELECT 'team:' || t FROM unnest(teams) t));
    asked tsquery := word_filter(recall_hybrid.text);
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT coalesce(label_kinds, '{}') <@ '{keyword,tag,concept,component}'::text[]
       OR label_kinds IS NOT NULL AND labels IS NULL THEN
        RAISE EXCEPTION 'label_kinds may be keyword, tag, concept, component and need labels, got %',
            label_kinds
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (keyword_weight = 0 OR keyword_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND (importance_weight = 0 OR importance_weight >= 1e-12::float8)
        AND abs(similarity_weight + keyword_weight + recency_weight + importance_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', similarity_weight + keyword_weight + recency_weight + importance_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query OPERATOR("public".<=>) query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(recall_hybrid.text) > 10000 THEN
        RAISE EXCEPTION 'text may have at most 10000 characters, got %',
            length(recall_hybrid.text)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF numnode(asked) = 0 THEN
        recall_hybrid.text := NULL;
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT m.agent_id, m.id,
               similarity_weight * similarity(m.embedding, query, 0.0)
               + keyword_weight * coalesce(words.share, 0)
               + recency_weight * recency_exponential(m.created_at, moment, 0.007701635339554948, 0.5)
               + importance_weight * m.importance AS score,
               coalesce(words.share, 0) AS keyword
          FROM agent_memories m
          LEFT JOIN memory_usage u
            ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
          LEFT JOIN keyword_shares(owners, query_text) words
            ON words.agent_id = m.agent_id AND words.memory_id = m.id
         WHERE m.agent_id = ANY (owners)
           AND (include_invalid OR is_valid(
                  m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
           AND (recall_hybrid.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
           AND m.status = ANY (statuses)
           AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                OR m.additional_types && memory_types)
           AND (tiers IS NULL OR m.tier = ANY (tiers))
           AND (recall_hybrid.tags IS NULL OR m.tags && recall_hybrid.tags)
           AND (all_tags IS NULL OR m.tags @> all_tags)
           AND (recall_hybrid.entities IS NULL OR m.entities && recall_hybrid.entities)
           AND (all_entities IS NULL OR m.entities @> all_entities)
           AND (labels IS NULL OR EXISTS (
                  SELECT FROM memory_labels l
                   WHERE l.agent_id = m.agent_id AND l.memory_id = m.id AND l.value = ANY (labels)
                     AND l.agent_id = ANY (owners)
                     AND (label_kinds IS NULL OR l.kind = ANY (label_kinds))))
           AND (recall_hybrid.text IS NULL OR m.terms @@ asked)
           AND (recall_hybrid.metadata IS NULL OR m.metadata @> recall_hybrid.metadata)
           AND (created_after IS NULL OR m.created_at >= created_after)
           AND (created_before IS NULL OR m.created_at < created_before)
           AND (components IS NULL OR m.component = ANY (components))
           AND (output_types IS NULL OR m.output_type = ANY (output_types))
           AND (domains IS NULL OR m.domain = ANY (domains))
           AND (categories IS NULL OR m.category = ANY (categories))
           AND (loops IS NULL OR m.loop = ANY (loops))
           AND (recall_hybrid.compliant IS NULL OR m.compliant = recall_hybrid.compliant)
           AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
           AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
         ORDER BY score DESC, m.id
         LIMIT k
    )
    SELECT m.agent_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.0),
           r.keyword,
           recency_exponential(m.created_at, moment, 0.007701635339554948, 0.5),
           m.importance
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id
      LEFT JOIN memory_usage u
        ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
     WHERE min_score IS NULL OR r.score >= min_score
     ORDER BY r.score DESC, m.id;
END
$$;

--
-- Name: FUNCTION recall_hybrid(agent text, query_text text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, keyword_weight double precision, recency_weight double precision, importance_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_hybrid(agent text, query_text text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, keyword_weight double precision, recency_weight double precision, importance_weight double precision) IS 'The k best memories of an agent by the profile hybrid: 0.6 similarity + 0.3 keyword + 0.05 recency + 0.05 importance.';

--
-- Name: recall_last_access(text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text, text[], text[], boolean, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_last_access(agent text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], labels text[] DEFAULT NULL::text[], label_kinds text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, text text DEFAULT NULL::text, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, similarity_weight double precision DEFAULT 0.5, importance_weight double precision DEFAULT 0.3, recency_weight double precision DEFAULT 0.2) RETURNS TABLE(agent_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_similarity double precision, signal_importance double precision, signal_recency double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
    owners text[] := array_prepend(agent, ARRAY(SELECT 'team:' || t FROM unnest(teams) t));
    asked tsquery := word_filter(recall_last_access.text);
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT coalesce(label_kinds, '{}') <@ '{keyword,tag,concept,component}'::text[]
       OR label_kinds IS NOT NULL AND labels IS NULL THEN
        RAISE EXCEPTION 'label_kinds may be keyword, tag, concept, component and need labels, got %',
            label_kinds
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (importance_weight = 0 OR importance_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND abs(similarity_weight + importance_weight + recency_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', similarity_weight + importance_weight + recency_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query OPERATOR("public".<=>) query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(recall_last_access.text) > 10000 THEN
        RAISE EXCEPTION 'text may have at most 10000 characters, got %',
            length(recall_last_access.text)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF numnode(asked) = 0 THEN
        recall_last_access.text := NULL;
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT m.agent_id, m.id,
               similarity_weight * similarity(m.embedding, query, 0.0)
               + importance_weight * m.importance
               + recency_weight * recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, 0.05, 0.5) AS score
          FROM agent_memories m
          LEFT JOIN memory_usage u
            ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
         WHERE m.agent_id = ANY (owners)
           AND (include_invalid OR is_valid(
                  m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
           AND (recall_last_access.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
           AND m.status = ANY (statuses)
           AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                OR m.additional_types && memory_types)
           AND (tiers IS NULL OR m.tier = ANY (tiers))
           AND (recall_last_access.tags IS NULL OR m.tags && recall_last_access.tags)
           AND (all_tags IS NULL OR m.tags @> all_tags)
           AND (recall_last_access.entities IS NULL OR m.entities && recall_last_access.entities)
           AND (all_entities IS NULL OR m.entities @> all_entities)
           AND (labels IS NULL OR EXISTS (
                  SELECT FROM memory_labels l
                   WHERE l.agent_id = m.agent_id AND l.memory_id = m.id AND l.value = ANY (labels)
                     AND l.agent_id = ANY (owners)
                     AND (label_kinds IS NULL OR l.kind = ANY (label_kinds))))
           AND (recall_last_access.text IS NULL OR m.terms @@ asked)
           AND (recall_last_access.metadata IS NULL OR m.metadata @> recall_last_access.metadata)
           AND (created_after IS NULL OR m.created_at >= created_after)
           AND (created_before IS NULL OR m.created_at < created_before)
           AND (components IS NULL OR m.component = ANY (components))
           AND (output_types IS NULL OR m.output_type = ANY (output_types))
           AND (domains IS NULL OR m.domain = ANY (domains))
           AND (categories IS NULL OR m.category = ANY (categories))
           AND (loops IS NULL OR m.loop = ANY (loops))
           AND (recall_last_access.compliant IS NULL OR m.compliant = recall_last_access.compliant)
           AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
           AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
           AND (query IS NULL OR m.embedding IS NOT NULL)
         ORDER BY score DESC, m.id
         LIMIT k
    )
    SELECT m.agent_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.0),
           m.importance,
           recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, 0.05, 0.5)
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id
      LEFT JOIN memory_usage u
        ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
     WHERE min_score IS NULL OR r.score >= min_score
     ORDER BY r.score DESC, m.id;
END
$$;

--
-- Name: FUNCTION recall_last_access(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, importance_weight double precision, recency_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_last_access(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, importance_weight double precision, recency_weight double precision) IS 'The k best memories of an agent by the profile last_access: 0.5 similarity + 0.3 importance + 0.2 recency.';

--
-- Name: recall_tiered(text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text, text[], text[], boolean, double precision, double precision, double precision, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_tiered(agent text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], labels text[] DEFAULT NULL::text[], label_kinds text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, text text DEFAULT NULL::text, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, similarity_weight double precision DEFAULT 0.4, recency_weight double precision DEFAULT 0.2, importance_weight double precision DEFAULT 0.15, frequency_weight double precision DEFAULT 0.1, usefulness_weight double precision DEFAULT 0.1, entity_overlap_weight double precision DEFAULT 0.05) RETURNS TABLE(agent_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_similarity double precision, signal_recency double precision, signal_importance double precision, signal_frequency double precision, signal_usefulness double precision, signal_entity_overlap double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
    owners text[] := array_prepend(agent, ARRAY(SELECT 'team:' || t FROM unnest(teams) t));
    asked tsquery := word_filter(recall_tiered.text);
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT coalesce(label_kinds, '{}') <@ '{keyword,tag,concept,component}'::text[]
       OR label_kinds IS NOT NULL AND labels IS NULL THEN
        RAISE EXCEPTION 'label_kinds may be keyword, tag, concept, component and need labels, got %',
            label_kinds
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND (importance_weight = 0 OR importance_weight >= 1e-12::float8)
        AND (frequency_weight = 0 OR frequency_weight >= 1e-12::float8)
        AND (usefulness_weight = 0 OR usefulness_weight >= 1e-12::float8)
        AND (entity_overlap_weight = 0 OR entity_overlap_weight >= 1e-12::float8)
        AND abs(similarity_weight + recency_weight + importance_weight + frequency_weight + usefulness_weight + entity_overlap_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', similarity_weight + recency_weight + importance_weight + frequency_weight + usefulness_weight + entity_overlap_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query OPERATOR("public".<=>) query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(recall_tiered.text) > 10000 THEN
        RAISE EXCEPTION 'text may have at most 10000 characters, got %',
            length(recall_tiered.text)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF numnode(asked) = 0 THEN
        recall_tiered.text := NULL;
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT m.agent_id, m.id,
               similarity_weight * similarity(m.embedding, query, 0.0)
               + recency_weight * recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, CASE WHEN (m.tier = 'short') THEN 2.772588722239781 WHEN (m.tier = 'medium') THEN 0.09902102579427789 WHEN (m.tier = 'long') THEN 0.007701635339554948 ELSE 0.007701635339554948 END, 0.5)
               + importance_weight * m.importance
               + frequency_weight * frequency(u.retrieval_count, 20)
               + usefulness_weight * m.usefulness
               + entity_overlap_weight * entity_overlap(m.entities, query_entities) AS score
          FROM agent_memories m
          LEFT JOIN memory_usage u
            ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
         WHERE m.agent_id = ANY (owners)
           AND (include_invalid OR is_valid(
                  m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
           AND (recall_tiered.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
           AND m.status = ANY (statuses)
           AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                OR m.additional_types && memory_types)
           AND (tiers IS NULL OR m.tier = ANY (tiers))
           AND (recall_tiered.tags IS NULL OR m.tags && recall_tiered.tags)
           AND (all_tags IS NULL OR m.tags @> all_tags)
           AND (recall_tiered.entities IS NULL OR m.entities && recall_tiered.entities)
           AND (all_entities IS NULL OR m.entities @> all_entities)
           AND (labels IS NULL OR EXISTS (
                  SELECT FROM memory_labels l
                   WHERE l.agent_id = m.agent_id AND l.memory_id = m.id AND l.value = ANY (labels)
                     AND l.agent_id = ANY (owners)
                     AND (label_kinds IS NULL OR l.kind = ANY (label_kinds))))
           AND (recall_tiered.text IS NULL OR m.terms @@ asked)
           AND (recall_tiered.metadata IS NULL OR m.metadata @> recall_tiered.metadata)
           AND (created_after IS NULL OR m.created_at >= created_after)
           AND (created_before IS NULL OR m.created_at < created_before)
           AND (components IS NULL OR m.component = ANY (components))
           AND (output_types IS NULL OR m.output_type = ANY (output_types))
           AND (domains IS NULL OR m.domain = ANY (domains))
           AND (categories IS NULL OR m.category = ANY (categories))
           AND (loops IS NULL OR m.loop = ANY (loops))
           AND (recall_tiered.compliant IS NULL OR m.compliant = recall_tiered.compliant)
           AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
           AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
         ORDER BY score DESC, m.id
         LIMIT k
    )
    SELECT m.agent_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.0),
           recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, CASE WHEN (m.tier = 'short') THEN 2.772588722239781 WHEN (m.tier = 'medium') THEN 0.09902102579427789 WHEN (m.tier = 'long') THEN 0.007701635339554948 ELSE 0.007701635339554948 END, 0.5),
           m.importance,
           frequency(u.retrieval_count, 20),
           m.usefulness,
           entity_overlap(m.entities, query_entities)
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id
      LEFT JOIN memory_usage u
        ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
     WHERE min_score IS NULL OR r.score >= min_score
     ORDER BY r.score DESC, m.id;
END
$$;

--
-- Name: FUNCTION recall_tiered(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, importance_weight double precision, frequency_weight double precision, usefulness_weight double precision, entity_overlap_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_tiered(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, importance_weight double precision, frequency_weight double precision, usefulness_weight double precision, entity_overlap_weight double precision) IS 'The k best memories of an agent by the profile tiered: 0.4 similarity + 0.2 recency + 0.15 importance + 0.1 frequency + 0.1 usefulness + 0.05 entity_overlap.';

--
-- Name: recall_trust(text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text, text[], text[], boolean, double precision, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_trust(agent text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], labels text[] DEFAULT NULL::text[], label_kinds text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, text text DEFAULT NULL::text, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, trust_weight double precision DEFAULT 0.4, similarity_weight double precision DEFAULT 0.35, recency_weight double precision DEFAULT 0.15, importance_weight double precision DEFAULT 0.1) RETURNS TABLE(agent_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_trust double precision, signal_similarity double precision, signal_recency double precision, signal_importance double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
    owners text[] := array_prepend(agent, ARRAY(SELECT 'team:' || t FROM unnest(teams) t));
    asked tsquery := word_filter(recall_trust.text);
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT coalesce(label_kinds, '{}') <@ '{keyword,tag,concept,component}'::text[]
       OR label_kinds IS NOT NULL AND labels IS NULL THEN
        RAISE EXCEPTION 'label_kinds may be keyword, tag, concept, component and need labels, got %',
            label_kinds
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((trust_weight = 0 OR trust_weight >= 1e-12::float8)
        AND (similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND (importance_weight = 0 OR importance_weight >= 1e-12::float8)
        AND abs(trust_weight + similarity_weight + recency_weight + importance_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', trust_weight + similarity_weight + recency_weight + importance_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query OPERATOR("public".<=>) query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(recall_trust.text) > 10000 THEN
        RAISE EXCEPTION 'text may have at most 10000 characters, got %',
            length(recall_trust.text)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF numnode(asked) = 0 THEN
        recall_trust.text := NULL;
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT m.agent_id, m.id,
               trust_weight * CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END
               + similarity_weight * similarity(m.embedding, query, 0.0)
               + recency_weight * recency_hyperbolic(m.created_at, moment, 7, 0.5)
               + importance_weight * m.importance AS score
          FROM agent_memories m
          LEFT JOIN memory_usage u
            ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
         WHERE m.agent_id = ANY (owners)
           AND (include_invalid OR is_valid(
                  m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
           AND (recall_trust.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
           AND m.status = ANY (statuses)
           AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                OR m.additional_types && memory_types)
           AND (tiers IS NULL OR m.tier = ANY (tiers))
           AND (recall_trust.tags IS NULL OR m.tags && recall_trust.tags)
           AND (all_tags IS NULL OR m.tags @> all_tags)
           AND (recall_trust.entities IS NULL OR m.entities && recall_trust.entities)
           AND (all_entities IS NULL OR m.entities @> all_entities)
           AND (labels IS NULL OR EXISTS (
                  SELECT FROM memory_labels l
                   WHERE l.agent_id = m.agent_id AND l.memory_id = m.id AND l.value = ANY (labels)
                     AND l.agent_id = ANY (owners)
                     AND (label_kinds IS NULL OR l.kind = ANY (label_kinds))))
           AND (recall_trust.text IS NULL OR m.terms @@ asked)
           AND (recall_trust.metadata IS NULL OR m.metadata @> recall_trust.metadata)
           AND (created_after IS NULL OR m.created_at >= created_after)
           AND (created_before IS NULL OR m.created_at < created_before)
           AND (components IS NULL OR m.component = ANY (components))
           AND (output_types IS NULL OR m.output_type = ANY (output_types))
           AND (domains IS NULL OR m.domain = ANY (domains))
           AND (categories IS NULL OR m.category = ANY (categories))
           AND (loops IS NULL OR m.loop = ANY (loops))
           AND (recall_trust.compliant IS NULL OR m.compliant = recall_trust.compliant)
           AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
           AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
         ORDER BY score DESC, m.id
         LIMIT k
    )
    SELECT m.agent_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END,
           similarity(m.embedding, query, 0.0),
           recency_hyperbolic(m.created_at, moment, 7, 0.5),
           m.importance
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id
      LEFT JOIN memory_usage u
        ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
     WHERE min_score IS NULL OR r.score >= min_score
     ORDER BY r.score DESC, m.id;
END
$$;

--
-- Name: FUNCTION recall_trust(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, trust_weight double precision, similarity_weight double precision, recency_weight double precision, importance_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_trust(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], labels text[], label_kinds text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, text text, teams text[], query_entities text[], apply_decay boolean, trust_weight double precision, similarity_weight double precision, recency_weight double precision, importance_weight double precision) IS 'The k best memories of an agent by the profile trust: 0.4 trust + 0.35 similarity + 0.15 recency + 0.1 importance.';

--
-- Name: recency_exponential(timestamp with time zone, timestamp with time zone, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recency_exponential(clock timestamp with time zone, as_of timestamp with time zone, rate double precision, unknown double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (clock IS NULL) THEN unknown WHEN (clock >= as_of) THEN (1)::double precision ELSE exp(GREATEST(((- rate) * (date_part('epoch'::text, (as_of - clock)) / (86400)::double precision)), (- (700)::double precision))) END;

--
-- Name: FUNCTION recency_exponential(clock timestamp with time zone, as_of timestamp with time zone, rate double precision, unknown double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recency_exponential(clock timestamp with time zone, as_of timestamp with time zone, rate double precision, unknown double precision) IS 'exp(-rate * days since clock); 1 for a clock after as_of; unknown where there is no clock.';

--
-- Name: recency_hyperbolic(timestamp with time zone, timestamp with time zone, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recency_hyperbolic(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (clock IS NULL) THEN unknown WHEN (clock >= as_of) THEN (1)::double precision ELSE ((1)::double precision / ((1)::double precision + ((date_part('epoch'::text, (as_of - clock)) / (86400)::double precision) / half_life))) END;

--
-- Name: FUNCTION recency_hyperbolic(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recency_hyperbolic(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision) IS '1 / (1 + days since clock / half_life); 1 for a clock after as_of; unknown without a clock.';

--
-- Name: recency_linear(timestamp with time zone, timestamp with time zone, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recency_linear(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (clock IS NULL) THEN unknown WHEN (clock >= as_of) THEN (1)::double precision ELSE GREATEST((0)::double precision, ((1)::double precision - ((date_part('epoch'::text, (as_of - clock)) / (86400)::double precision) / ((2)::double precision * half_life)))) END;

--
-- Name: FUNCTION recency_linear(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recency_linear(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision) IS '1 - days since clock / (2 * half_life), at least 0; 1 for a clock after as_of; unknown without a clock.';

--
-- Name: record_feedback(text, uuid, text, text, text, jsonb); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.record_feedback(agent text, memory_id uuid, kind text, context text DEFAULT NULL::text, actor text DEFAULT NULL::text, metadata jsonb DEFAULT '{}'::jsonb) RETURNS TABLE(id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    this_id uuid := record_feedback.memory_id;
    up integer := CASE kind WHEN 'useful' THEN 1 ELSE 0 END;
    down integer := CASE kind WHEN 'useful' THEN 0 WHEN 'incorrect' THEN 3 ELSE 1 END;
    outdated boolean := kind = 'outdated';
    note_reason text := context;
    note_actor text := coalesce(actor, session_user);
    note_metadata jsonb := coalesce(metadata, '{}'::jsonb) || jsonb_build_object('kind', kind);
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (actor = '' IS TRUE OR jsonb_typeof(coalesce(metadata, '{}'::jsonb)) <> 'object') IS NOT FALSE THEN
        RAISE EXCEPTION 'actor must not be empty and metadata must be a JSON object, got % and %', actor, metadata
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (kind NOT IN ('useful', 'not_useful', 'outdated', 'incorrect')) IS NOT FALSE THEN
        RAISE EXCEPTION 'feedback is useful, not_useful, outdated or incorrect, got %', kind
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH locked AS
    (SELECT agent_memories.id AS id, agent_memories.usefulness AS usefulness, agent_memories.needs_review AS needs_review
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.id = this_id ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    counted AS
    (INSERT INTO memory_usage (agent_id, memory_id, feedback_up, feedback_down, last_accessed_at) SELECT owner_id AS anon_5, locked.id AS id, up AS anon_6, down AS anon_7, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS "NULL"
    FROM locked
    WHERE true ON CONFLICT (agent_id, memory_id) DO UPDATE SET last_accessed_at = greatest(memory_usage.last_accessed_at, excluded.last_accessed_at), feedback_up = (memory_usage.feedback_up + excluded.feedback_up), feedback_down = (memory_usage.feedback_down + excluded.feedback_down) RETURNING memory_usage.agent_id, memory_usage.memory_id, memory_usage.retrieval_count, memory_usage.last_accessed_at, memory_usage.success_count, memory_usage.failure_count, memory_usage.feedback_up, memory_usage.feedback_down),
    changed AS
    (UPDATE agent_memories SET usefulness=usefulness_after_feedback(locked.usefulness, counted.feedback_up - up, counted.feedback_down - down, up, down), updated_at=now(), needs_review=(locked.needs_review OR outdated) FROM locked, counted WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id AND counted.memory_id = locked.id RETURNING agent_memories.id, jsonb_build_object('usefulness', locked.usefulness, 'needs_review', locked.needs_review) AS old_values, jsonb_build_object('usefulness', agent_memories.usefulness, 'needs_review', agent_memories.needs_review, 'feedback_up', counted.feedback_up, 'feedback_down', counted.feedback_down) AS new_values, 'feedback' AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
    IF NOT FOUND THEN
        RAISE EXCEPTION '% has no memory % that record_feedback could change', agent, record_feedback.memory_id
            USING ERRCODE = 'no_data_found';
    END IF;
END
$$;

--
-- Name: FUNCTION record_feedback(agent text, memory_id uuid, kind text, context text, actor text, metadata jsonb); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.record_feedback(agent text, memory_id uuid, kind text, context text, actor text, metadata jsonb) IS 'Counts feedback on a memory (useful, not_useful, outdated, incorrect) and moves its usefulness.';

--
-- Name: record_outcome(text, uuid, text, text, text, jsonb, boolean); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.record_outcome(agent text, memory_id uuid, outcome text, reason text DEFAULT NULL::text, actor text DEFAULT NULL::text, metadata jsonb DEFAULT '{}'::jsonb, touch boolean DEFAULT true) RETURNS TABLE(id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    this_id uuid := record_outcome.memory_id;
    success boolean := outcome = 'success';
    note_reason text := reason;
    note_actor text := coalesce(actor, session_user);
    note_metadata jsonb := coalesce(metadata, '{}'::jsonb);
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (actor = '' IS TRUE OR jsonb_typeof(coalesce(metadata, '{}'::jsonb)) <> 'object') IS NOT FALSE THEN
        RAISE EXCEPTION 'actor must not be empty and metadata must be a JSON object, got % and %', actor, metadata
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (outcome NOT IN ('success', 'failure')) IS NOT FALSE THEN
        RAISE EXCEPTION 'outcome is success or failure, got %', outcome
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH locked AS
    (SELECT agent_memories.id AS id, agent_memories.trust AS trust, agent_memories.trust_provenance AS trust_provenance, agent_memories.trust_consensus AS trust_consensus, agent_memories.trust_governance AS trust_governance, agent_memories.trust_usage AS trust_usage
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.id = this_id ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    counted AS
    (INSERT INTO memory_usage (agent_id, memory_id, retrieval_count, success_count, failure_count, last_accessed_at) SELECT owner_id AS anon_5, locked.id AS id, CASE WHEN touch THEN 1 ELSE 0 END AS anon_6, CASE WHEN success THEN 1 ELSE 0 END AS anon_7, 1 - CASE WHEN success THEN 1 ELSE 0 END AS anon_8, CASE WHEN touch THEN now() ELSE CAST(NULL AS TIMESTAMP WITH TIME ZONE) END AS anon_9
    FROM locked
    WHERE true ON CONFLICT (agent_id, memory_id) DO UPDATE SET retrieval_count = (memory_usage.retrieval_count + excluded.retrieval_count), last_accessed_at = greatest(memory_usage.last_accessed_at, excluded.last_accessed_at), success_count = (memory_usage.success_count + excluded.success_count), failure_count = (memory_usage.failure_count + excluded.failure_count) RETURNING memory_usage.agent_id, memory_usage.memory_id, memory_usage.retrieval_count, memory_usage.last_accessed_at, memory_usage.success_count, memory_usage.failure_count, memory_usage.feedback_up, memory_usage.feedback_down),
    changed AS
    (UPDATE agent_memories SET trust=CASE WHEN (trust_after_outcome(locked.trust, success, counted.success_count, counted.failure_count, counted.retrieval_count) < 1e-100::float8) THEN 0.0 ELSE trust_after_outcome(locked.trust, success, counted.success_count, counted.failure_count, counted.retrieval_count) END, updated_at=now(), trust_usage=trust_usage(counted.success_count, counted.failure_count, counted.retrieval_count) FROM locked, counted WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id AND counted.memory_id = locked.id RETURNING agent_memories.id, jsonb_build_object('trust', locked.trust, 'trust_provenance', locked.trust_provenance, 'trust_consensus', locked.trust_consensus, 'trust_governance', locked.trust_governance, 'trust_usage', locked.trust_usage) AS old_values, jsonb_build_object('trust', agent_memories.trust, 'trust_provenance', agent_memories.trust_provenance, 'trust_consensus', agent_memories.trust_consensus, 'trust_governance', agent_memories.trust_governance, 'trust_usage', agent_memories.trust_usage, 'success_count', counted.success_count, 'failure_count', counted.failure_count, 'retrieval_count', counted.retrieval_count) AS new_values, CASE WHEN success THEN 'reinforcement' ELSE 'penalty' END AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
    IF NOT FOUND THEN
        RAISE EXCEPTION '% has no memory % that record_outcome could change', agent, record_outcome.memory_id
            USING ERRCODE = 'no_data_found';
    END IF;
END
$$;

--
-- Name: FUNCTION record_outcome(agent text, memory_id uuid, outcome text, reason text, actor text, metadata jsonb, touch boolean); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.record_outcome(agent text, memory_id uuid, outcome text, reason text, actor text, metadata jsonb, touch boolean) IS 'Counts a success or failure of a memory''s use and moves its trust; touch counts a retrieval too.';

--
-- Name: revive_memories(text, uuid[], text, text, jsonb); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.revive_memories(agent text, memory_ids uuid[], reason text DEFAULT NULL::text, actor text DEFAULT NULL::text, metadata jsonb DEFAULT '{}'::jsonb) RETURNS TABLE(id uuid, old_values jsonb, new_values jsonb)
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    ids uuid[] := memory_ids;
    note_reason text := reason;
    note_actor text := coalesce(actor, session_user);
    note_metadata jsonb := coalesce(metadata, '{}'::jsonb);
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (actor = '' IS TRUE OR jsonb_typeof(coalesce(metadata, '{}'::jsonb)) <> 'object') IS NOT FALSE THEN
        RAISE EXCEPTION 'actor must not be empty and metadata must be a JSON object, got % and %', actor, metadata
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH locked AS
    (SELECT agent_memories.id AS id, agent_memories.status AS status, agent_memories.invalidated_at AS invalidated_at, agent_memories.invalidation_reason AS invalidation_reason, agent_memories.superseded_by AS superseded_by, agent_memories.expires_at AS expires_at
    FROM agent_memories
    WHERE agent_memories.agent_id = owner_id AND agent_memories.id = ANY (CAST(ids AS UUID[])) AND (agent_memories.invalidated_at IS NOT NULL OR agent_memories.status != 'active' OR agent_memories.expires_at <= now()) ORDER BY agent_memories.id FOR NO KEY UPDATE OF agent_memories),
    changed AS
    (UPDATE agent_memories SET updated_at=now(), expires_at=CASE WHEN (locked.expires_at > now()) THEN locked.expires_at END, invalidated_at=NULL, status='active', invalidation_reason=NULL, superseded_by=NULL FROM locked WHERE agent_memories.agent_id = owner_id AND agent_memories.id = locked.id RETURNING agent_memories.id, jsonb_build_object('status', locked.status, 'invalidated_at', locked.invalidated_at, 'invalidation_reason', locked.invalidation_reason, 'superseded_by', locked.superseded_by, 'expires_at', locked.expires_at) AS old_values, jsonb_build_object('status', agent_memories.status, 'invalidated_at', agent_memories.invalidated_at, 'invalidation_reason', agent_memories.invalidation_reason, 'superseded_by', agent_memories.superseded_by, 'expires_at', agent_memories.expires_at) AS new_values, 'revived' AS event_type),
    noted AS
    (INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata, occurred_at) SELECT owner_id AS anon_1, changed.id AS id, event_id() AS event_id_1, changed.event_type AS event_type, note_reason AS anon_2, note_actor AS anon_3, changed.old_values AS old_values, changed.new_values AS new_values, note_metadata AS anon_4, clock_timestamp() AS clock_timestamp_1
    FROM changed)
     SELECT changed.id, changed.old_values, changed.new_values
    FROM changed;
END
$$;

--
-- Name: FUNCTION revive_memories(agent text, memory_ids uuid[], reason text, actor text, metadata jsonb); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.revive_memories(agent text, memory_ids uuid[], reason text, actor text, metadata jsonb) IS 'Makes memories recallable again that were invalidated, put away or have expired.';

--
-- Name: similarity(public.halfvec, public.halfvec, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.similarity(embedding public.halfvec, query public.halfvec, missing double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((embedding IS NULL) OR (query IS NULL)) THEN missing ELSE GREATEST(((1)::double precision - (embedding OPERATOR(public.<=>) query)), (0)::double precision) END;

--
-- Name: FUNCTION similarity(embedding public.halfvec, query public.halfvec, missing double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.similarity(embedding public.halfvec, query public.halfvec, missing double precision) IS 'Cosine similarity in [0, 1]; missing where there is no embedding or no query.';

--
-- Name: similarity(public.vector, public.vector, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.similarity(embedding public.vector, query public.vector, missing double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((embedding IS NULL) OR (query IS NULL)) THEN missing ELSE GREATEST(((1)::double precision - (embedding OPERATOR(public.<=>) query)), (0)::double precision) END;

--
-- Name: FUNCTION similarity(embedding public.vector, query public.vector, missing double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.similarity(embedding public.vector, query public.vector, missing double precision) IS 'Cosine similarity in [0, 1]; missing where there is no embedding or no query.';

--
-- Name: sweep_orphans_batch(text, integer); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.sweep_orphans_batch(agent text, batch_size integer DEFAULT 1000) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pgrecall', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    owner_id text := agent;
    swept bigint := 0;
    rows_gone bigint := 0;
BEGIN
    IF (agent IS NULL OR agent = '') IS NOT FALSE THEN
        RAISE EXCEPTION 'agent must be given, got %', agent
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (batch_size IS NULL OR NOT batch_size BETWEEN 1 AND 100000) IS NOT FALSE THEN
        RAISE EXCEPTION 'batch_size lies within 1 and 100000, got %', batch_size
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    WITH orphans AS
    (SELECT memory_usage.agent_id AS agent_id, memory_usage.memory_id AS memory_id
    FROM memory_usage
    WHERE memory_usage.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_usage.agent_id AND agent_memories.id = memory_usage.memory_id)) ORDER BY memory_usage.agent_id, memory_usage.memory_id
     LIMIT batch_size FOR UPDATE SKIP LOCKED)
     DELETE FROM memory_usage USING orphans WHERE memory_usage.agent_id = owner_id AND memory_usage.agent_id = orphans.agent_id AND memory_usage.memory_id = orphans.memory_id;
    GET DIAGNOSTICS rows_gone = ROW_COUNT;
    swept := swept + rows_gone;
    WITH orphans AS
    (SELECT memory_labels.agent_id AS agent_id, memory_labels.memory_id AS memory_id, memory_labels.kind AS kind, memory_labels.value AS value
    FROM memory_labels
    WHERE memory_labels.agent_id = owner_id AND NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_labels.agent_id AND agent_memories.id = memory_labels.memory_id)) ORDER BY memory_labels.agent_id, memory_labels.memory_id, memory_labels.kind, memory_labels.value
     LIMIT batch_size FOR UPDATE SKIP LOCKED)
     DELETE FROM memory_labels USING orphans WHERE memory_labels.agent_id = owner_id AND memory_labels.agent_id = orphans.agent_id AND memory_labels.memory_id = orphans.memory_id AND memory_labels.kind = orphans.kind AND memory_labels.value = orphans.value;
    GET DIAGNOSTICS rows_gone = ROW_COUNT;
    swept := swept + rows_gone;
    WITH orphans AS
    (SELECT memory_links.agent_id AS agent_id, memory_links.source_id AS source_id, memory_links.target_id AS target_id, memory_links.kind AS kind
    FROM memory_links
    WHERE memory_links.agent_id = owner_id AND (NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_links.agent_id AND agent_memories.id = memory_links.source_id)) OR NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = memory_links.agent_id AND agent_memories.id = memory_links.target_id))) ORDER BY memory_links.agent_id, memory_links.source_id, memory_links.target_id, memory_links.kind
     LIMIT batch_size FOR UPDATE SKIP LOCKED)
     DELETE FROM memory_links USING orphans WHERE memory_links.agent_id = owner_id AND memory_links.agent_id = orphans.agent_id AND memory_links.source_id = orphans.source_id AND memory_links.target_id = orphans.target_id AND memory_links.kind = orphans.kind;
    GET DIAGNOSTICS rows_gone = ROW_COUNT;
    swept := swept + rows_gone;
    RETURN swept;
END
$$;

--
-- Name: FUNCTION sweep_orphans_batch(agent text, batch_size integer); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.sweep_orphans_batch(agent text, batch_size integer) IS 'One batch of the garbage collection: what is left of memories that are gone.';

--
-- Name: term_key(text, text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.term_key(agent text, term text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended(term, hashtextextended(agent, (0)::bigint));

--
-- Name: FUNCTION term_key(agent text, term text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.term_key(agent text, term text) IS 'A term of one owner, as it stands in the index of words.';

--
-- Name: term_keys(text, tsvector); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.term_keys(agent text, terms tsvector) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE COST 1000 PARALLEL SAFE
    BEGIN ATOMIC
 SELECT COALESCE(array_agg(pgrecall.term_key(term_keys.agent, term.term)), '{}'::bigint[]) AS "coalesce"
    FROM unnest(tsvector_to_array(term_keys.terms)) term(term);
END;

--
-- Name: FUNCTION term_keys(agent text, terms tsvector); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.term_keys(agent text, terms tsvector) IS 'The keys of all terms of a memory.';

--
-- Name: term_weight(bigint, bigint); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.term_weight(memories bigint, total bigint) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ln(((1)::double precision + ((((GREATEST(total, memories) - memories))::double precision + (0.5)::double precision) / ((memories)::double precision + (0.5)::double precision))));

--
-- Name: FUNCTION term_weight(memories bigint, total bigint); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.term_weight(memories bigint, total bigint) IS 'Inverse document frequency of a term that so many of all memories have: ln(1 + (N - n + 0.5) / (n + 0.5)).';

--
-- Name: term_weights(text, text, boolean); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.term_weights(agent text, query_text text, exact boolean DEFAULT true) RETURNS TABLE(term text, memories bigint, weight double precision)
    LANGUAGE plpgsql STABLE ROWS 8 PARALLEL SAFE
    SET search_path TO 'pgrecall', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $_$
#variable_conflict use_variable
DECLARE
    known jsonb;
    total bigint;
    asked text[];
BEGIN
    EXECUTE 'SELECT ARRAY(SELECT term FROM query_terms($1))' INTO asked USING query_text;
    IF NOT exact THEN
        SELECT r.common_terms, r.term_memories INTO known, total FROM rank_indexes r
         WHERE r.agent_id = agent;
    END IF;
    IF total IS NULL THEN
        known := NULL;
        total := memories_of(agent);
    END IF;
    RETURN QUERY
    SELECT counted.term, counted.n, term_weight(counted.n, total)
      FROM (SELECT q.term, q.place, coalesce((known ->> q.term)::bigint, (
                     SELECT count(*) FROM agent_memories m
                      WHERE term_keys(m.agent_id, m.terms) @> ARRAY[term_key(agent, q.term)]
                        AND m.agent_id = agent)) AS n
              FROM unnest(asked) WITH ORDINALITY q(term, place)) counted
     ORDER BY counted.place;
END
$_$;

--
-- Name: FUNCTION term_weights(agent text, query_text text, exact boolean); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.term_weights(agent text, query_text text, exact boolean) IS 'The terms of a query: how many of an owner''s memories have each, and its weight in the keyword signal. Not exact: by what the owner''s rank index noted, as searches through it do.';

--
-- Name: trust_after_outcome(double precision, boolean, integer, integer, integer); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.trust_after_outcome(trust double precision, success boolean, success_count integer, failure_count integer, access_count integer) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (trust IS NOT NULL) THEN LEAST(GREATEST(((trust + CASE WHEN success THEN ((0.05)::double precision / ((1)::double precision + ((0.1)::double precision * (success_count)::double precision))) ELSE ((- (0.08)::double precision) / ((1)::double precision + ((0.05)::double precision * (failure_count)::double precision))) END) + CASE WHEN ((access_count > 5) AND (success_count > 0) AND (((success_count)::double precision / ((success_count)::double precision + (failure_count)::double precision)) > (0.8)::double precision)) THEN (0.02)::double precision ELSE (0)::double precision END), (0)::double precision), (1)::double precision) ELSE NULL::double precision END;

--
-- Name: FUNCTION trust_after_outcome(trust double precision, success boolean, success_count integer, failure_count integer, access_count integer); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.trust_after_outcome(trust double precision, success boolean, success_count integer, failure_count integer, access_count integer) IS 'Trust after a use, counters counted first: success +0.05/(1 + 0.1 successes), failure -0.08/(1 + 0.05 failures), +0.02 once over 5 accesses with a success rate over 0.8.';

--
-- Name: trust_governance(boolean, boolean, boolean, boolean, boolean); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.trust_governance(compliant boolean, requires_approval boolean, has_errors boolean, violates_policy boolean, under_policy_review boolean) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((((CASE WHEN (compliant IS FALSE) THEN (0.3)::double precision ELSE (1)::double precision END * CASE WHEN requires_approval THEN (0.8)::double precision ELSE (1)::double precision END) * CASE WHEN has_errors THEN (0.7)::double precision ELSE (1)::double precision END) * CASE WHEN violates_policy THEN (0.5)::double precision ELSE (1)::double precision END) * CASE WHEN under_policy_review THEN (0.8)::double precision ELSE (1)::double precision END);

--
-- Name: FUNCTION trust_governance(compliant boolean, requires_approval boolean, has_errors boolean, violates_policy boolean, under_policy_review boolean); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.trust_governance(compliant boolean, requires_approval boolean, has_errors boolean, violates_policy boolean, under_policy_review boolean) IS 'Trust''s part from compliance: 1, or 0.3 if not compliant; × 0.8 approval, × 0.7 errors, × 0.5 violation, × 0.8 review.';

--
-- Name: trust_provenance(double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.trust_provenance(reputation double precision, confidence double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((0.6)::double precision * reputation) + ((0.4)::double precision * confidence));

--
-- Name: FUNCTION trust_provenance(reputation double precision, confidence double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.trust_provenance(reputation double precision, confidence double precision) IS 'Trust''s part from where a memory comes from: 0.6 reputation of its component + 0.4 confidence.';

--
-- Name: trust_usage(integer, integer, integer); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.trust_usage(success_count integer, failure_count integer, access_count integer) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (CASE WHEN (success_count = 0) THEN (0)::double precision ELSE (((0.7)::double precision * (success_count)::double precision) / ((success_count)::double precision + (failure_count)::double precision)) END + ((0.3)::double precision * LEAST(((access_count)::double precision / (20)::double precision), (1)::double precision)));

--
-- Name: FUNCTION trust_usage(success_count integer, failure_count integer, access_count integer); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.trust_usage(success_count integer, failure_count integer, access_count integer) IS 'Trust''s part from use: 0.7 success rate + 0.3 least(access_count / 20, 1).';

--
-- Name: usefulness_after_feedback(double precision, integer, integer, integer, integer); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.usefulness_after_feedback(usefulness double precision, earlier_up integer, earlier_down integer, up integer, down integer) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (abs((usefulness - (((1)::double precision + (earlier_up)::double precision) / (((2)::double precision + (earlier_up)::double precision) + (earlier_down)::double precision)))) < (0.000000001)::double precision) THEN ((((1)::double precision + (earlier_up)::double precision) + (up)::double precision) / (((((2)::double precision + (earlier_up)::double precision) + (earlier_down)::double precision) + (up)::double precision) + (down)::double precision)) WHEN ((usefulness < (0.00000000000000000000000000000000000000000000000000000000000000000000000000000001)::double precision) AND (up = 0)) THEN (0)::double precision ELSE (((usefulness * (((2)::double precision + (earlier_up)::double precision) + (earlier_down)::double precision)) + (up)::double precision) / (((((2)::double precision + (earlier_up)::double precision) + (earlier_down)::double precision) + (up)::double precision) + (down)::double precision)) END;

--
-- Name: FUNCTION usefulness_after_feedback(usefulness double precision, earlier_up integer, earlier_down integer, up integer, down integer); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.usefulness_after_feedback(usefulness double precision, earlier_up integer, earlier_down integer, up integer, down integer) IS 'Posterior mean of helpfulness after up and down votes, given the mean after earlier ones; prior strength 2.';

--
-- Name: word_candidates(text, text, text, double precision, text[], bigint[], double precision[], integer); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.word_candidates(agent text, relation text, direction text, keyword_weight double precision, terms text[], memories bigint[], weights double precision[], candidates integer) RETURNS TABLE(memory_id uuid)
    LANGUAGE plpgsql STABLE ROWS 100
    SET search_path TO 'pgrecall', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    AS $_$
DECLARE
    places integer[] := ARRAY(
        SELECT place::integer FROM unnest(memories) WITH ORDINALITY m(n, place)
         WHERE n > 0 ORDER BY n, place LIMIT 32);
    total float8 := (SELECT sum(weight) FROM unnest(weights) weight);
    owned float8;
    left_over float8 := 5 * candidates;
    place integer;
    other integer;
    expected float8;
    chosen integer[];
    keys bigint[];
    common integer[] := '{}';
    found uuid[] := '{}';
    shares float8[] := '{}';
    these uuid[];
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF places = '{}' OR NOT coalesce(has_table_privilege(to_regclass(relation), 'SELECT'), false) THEN
        RETURN;
    END IF;
    keys := ARRAY(SELECT term_key(agent, term)
                    FROM unnest(terms) WITH ORDINALITY t(term, place) ORDER BY t.place);
    SELECT greatest(coalesce(r.term_memories, r.memories), 1) INTO owned FROM rank_indexes r
     WHERE r.agent_id = agent;
    FOREACH place IN ARRAY places LOOP
        IF memories[place] > left_over THEN
            common := common || place;
            CONTINUE;
        END IF;
        left_over := left_over - memories[place];
        these := ARRAY(SELECT m.id FROM agent_memories m
                        WHERE term_keys(m.agent_id, m.terms) @> ARRAY[keys[place]]
                          AND m.agent_id = agent);
        found := found || these;
        shares := shares || array_fill(weights[place] / total, ARRAY[cardinality(these)]);
    END LOOP;
    FOR one IN 1 .. least(cardinality(common), 6) LOOP
        FOR two IN one + 1 .. least(cardinality(common), 6) LOOP
            chosen := ARRAY[common[one], common[two]];
            expected := memories[common[one]] * (memories[common[two]] / owned);
            other := two + 1;
            WHILE expected > left_over AND other <= cardinality(common) LOOP
                chosen := chosen || common[other];
                expected := expected * (memories[common[other]] / owned);
                other := other + 1;
            END LOOP;
            CONTINUE WHEN expected > left_over;
            these := ARRAY(SELECT m.id FROM agent_memories m
                            WHERE term_keys(m.agent_id, m.terms)
                                  @> ARRAY(SELECT keys[c] FROM unnest(chosen) c)
                              AND m.agent_id = agent
                            LIMIT ceil(left_over));
            left_over := left_over - cardinality(these);
            found := found || these;
            shares := shares || array_fill(
                (SELECT sum(weights[c]) FROM unnest(chosen) c) / total, ARRAY[cardinality(these)]);
        END LOOP;
    END LOOP;
    BEGIN
        PERFORM set_config('enable_indexscan', 'on', true);
        RETURN QUERY EXECUTE format($$
            SELECT f.id FROM (SELECT id, least(sum(share), 1) AS share
                                FROM unnest($1, $2) n(id, share) GROUP BY id) f
              JOIN %I p ON p.memory_id = f.id
             ORDER BY (p.position OPERATOR("public".<#>) $3) - $4 * f.share LIMIT $5 $$,
                relation)
            USING found, shares, direction::"public".halfvec, keyword_weight, candidates;
    EXCEPTION WHEN undefined_table THEN
        NULL;
    END;
END
$_$;

--
-- Name: FUNCTION word_candidates(agent text, relation text, direction text, keyword_weight double precision, terms text[], memories bigint[], weights double precision[], candidates integer); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.word_candidates(agent text, relation text, direction text, keyword_weight double precision, terms text[], memories bigint[], weights double precision[], candidates integer) IS 'Candidates for exact scoring from the terms of a query: of the memories that have the heaviest of them, or several of the common ones, those nearest to the query by position and terms.';

--
-- Name: word_filter(text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.word_filter(asked text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN websearch_to_tsquery(pgrecall.text_language(), regexp_replace(translate(pgrecall.folded("left"(asked, 10000), ','::text), '“”„‟«»'::text, '""""""'::text), '-+(?=[-\s]|$)'::text, ''::text, 'g'::text));

--
-- Name: FUNCTION word_filter(asked text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.word_filter(asked text) IS 'What a text filter asks for, as people type it: "a phrase", or, -without. At most 10,000 characters.';

--
-- Name: worded_candidates(text, text, text, integer, integer, double precision, text[], bigint[], double precision[], bigint, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.worded_candidates(agent text, relation text, query text, candidates integer, reach integer, keyword_weight double precision, terms text[], memories bigint[], weights double precision[], owned bigint, likeness double precision) RETURNS TABLE(memory_id uuid)
    LANGUAGE plpgsql ROWS 100
    SET search_path TO 'pgrecall', 'pg_temp'
    SET "hnsw.ef_search" TO '40'
    SET "hnsw.iterative_scan" TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'on'
    SET max_parallel_workers_per_gather TO '0'
    AS $_$
DECLARE
    hits integer := greatest(candidates / 6, 1);
    keys bigint[];
    shares float8[];
    numbers float8[];
    rare integer := 0;
    left_over float8 := 64 * candidates;
    ids uuid[];
    scores float8[];
    farthest float8;
    needed float8;
    rest float8[];
    upto float8[];
    last integer;
    expected float8;
    firsts integer[] := '{}';
    lasts integer[] := '{}';
    asked "public".halfvec := meaning(query::"public".halfvec);
    walked integer := reach;
    all_compared boolean := false;
    met float8;
BEGIN
    SELECT coalesce(array_agg(term_key(agent, t.term) ORDER BY t.n, t.place), '{}'),
           coalesce(array_agg(t.share ORDER BY t.n, t.place), '{}'),
           coalesce(array_agg(t.n ORDER BY t.n, t.place), '{}')
      INTO keys, shares, numbers
      FROM (SELECT a.term, a.n, a.place, a.weight / sum(a.weight) OVER () AS share
              FROM unnest(terms, memories, weights) WITH ORDINALITY a(term, n, weight, place)) t
     WHERE t.n > 0;
    WHILE rare < cardinality(keys) AND left_over - numbers[rare + 1] >= 62 * candidates LOOP
        rare := rare + 1;
        left_over := left_over - numbers[rare];
    END LOOP;

    LOOP
        PERFORM set_config('hnsw.ef_search', walked::text, true);
        EXECUTE format($$
            WITH near AS MATERIALIZED (
                SELECT memory_id, greatest(-(position OPERATOR("public".<#>) $1), 0) AS nearness, words,
                       -(position OPERATOR("public".<#>) $7) AS alike
                  FROM %1$I ORDER BY position OPERATOR("public".<#>) $1 LIMIT $2
            ), worded AS (
                SELECT memory_id, nearness, words FROM near
                 UNION ALL
                SELECT memory_id, greatest(-(position OPERATOR("public".<#>) $1), 0), words FROM %1$I
                 WHERE words && $3 AND memory_id NOT IN (SELECT memory_id FROM near)
            ), scored AS MATERIALIZED (
                SELECT memory_id, nearness + $6 * CASE WHEN words && $4 THEN (
                           SELECT sum(share) FROM unnest(words) had(key)
                             JOIN unnest($4, $5) asked(key, share) USING (key)) ELSE 0 END AS score
                  FROM worded
            )
            SELECT array_agg(memory_id ORDER BY score DESC), array_agg(score ORDER BY score DESC),
                   (SELECT min(nearness) FROM near), (SELECT max(alike) FROM near)
              FROM scored $$, relation)
            INTO ids, scores, farthest, met
            USING query::"public".halfvec, walked, keys[:rare], keys, shares, keyword_weight, asked;
        EXIT WHEN all_compared OR NOT has_missed(relation, asked, likeness, met, scores[1]);
        IF walked = 1000 THEN
            all_compared := true;
            PERFORM set_config('enable_indexscan', 'off', true),
                    set_config('enable_seqscan', 'on', true);
        END IF;
        walked := least(4 * walked, 1000);
    END LOOP;
    IF all_compared THEN
        PERFORM set_config('enable_indexscan', 'on', true),
                set_config('enable_seqscan', 'off', true);
    END IF;

    IF keyword_weight > 0 THEN
        needed := coalesce((scores[hits] - farthest) / keyword_weight, '-Infinity');
        rest := ARRAY(SELECT sum(s.share) OVER (ORDER BY s.place DESC)
                        FROM unnest(shares) WITH ORDINALITY s(share, place) ORDER BY s.place);
        upto := ARRAY(SELECT sum(n.number) OVER (ORDER BY n.place)
                        FROM unnest(numbers) WITH ORDINALITY n(number, place) ORDER BY n.place);
        last := cardinality(keys);
        FOR one IN rare + 1 .. least(cardinality(keys), rare + 32) LOOP
            EXIT WHEN rest[one] < needed;
            WHILE last > one AND shares[one] + rest[last] < needed LOOP
                last := last - 1;
            END LOOP;
            EXIT WHEN last = one AND shares[one] < needed;
            expected := numbers[one];
            IF shares[one] < needed THEN
                expected := expected * least((upto[last] - upto[one]) / owned, 1);
            END IF;
            CONTINUE WHEN expected > left_over;
            left_over := left_over - expected;
            firsts := firsts || one;
            lasts := lasts || CASE WHEN shares[one] < needed THEN last ELSE one END;
        END LOOP;
    END IF;
    IF firsts = '{}' THEN
        RETURN QUERY SELECT unnest(ids[:candidates]);
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format($$
        SELECT memory_id FROM (
            SELECT * FROM unnest($1, $2) f(memory_id, score)
             UNION
            SELECT near.memory_id, near.nearness + $8 * (
                       SELECT sum(share) FROM unnest(near.words) had(key)
                         JOIN unnest($6, $7) asked(key, share) USING (key))
              FROM unnest($3, $4) term(first, last)
             CROSS JOIN LATERAL (
                SELECT p.memory_id, greatest(-(p.position OPERATOR("public".<#>) $5), 0) AS nearness, p.words
                  FROM %I p
                 WHERE p.words @> $6[term.first:term.first]
                   AND p.words && $6[least(term.first + 1, term.last):term.last]
                OFFSET 0) near
             WHERE near.nearness > $9 AND near.memory_id <> ALL ($1)) every
         ORDER BY score DESC LIMIT $10 $$, relation)
        USING coalesce(ids, '{}'), scores, firsts, lasts, query::"public".halfvec, keys, shares, keyword_weight,
              coalesce(scores[candidates] - keyword_weight * rest[rare + 1], '-Infinity'),
              candidates;
END
$_$;

--
-- Name: FUNCTION worded_candidates(agent text, relation text, query text, candidates integer, reach integer, keyword_weight double precision, terms text[], memories bigint[], weights double precision[], owned bigint, likeness double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.worded_candidates(agent text, relation text, query text, candidates integer, reach integer, keyword_weight double precision, terms text[], memories bigint[], weights double precision[], owned bigint, likeness double precision) IS 'Candidates for exact scoring from positions and words together: those whose inner product with the query plus the weight of its words that they have is largest.';

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: agent_memories; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.agent_memories (
    agent_id text NOT NULL,
    id uuid NOT NULL,
    usefulness double precision DEFAULT 0.5 NOT NULL,
    confidence double precision DEFAULT 0.8 NOT NULL,
    importance double precision DEFAULT 0.5 NOT NULL,
    trust double precision,
    trust_half_life_hours double precision,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    valid_from timestamp with time zone,
    valid_until timestamp with time zone,
    expires_at timestamp with time zone,
    invalidated_at timestamp with time zone,
    status text DEFAULT 'active'::text NOT NULL,
    tier text DEFAULT 'long'::text NOT NULL,
    memory_type text DEFAULT 'episodic'::text NOT NULL,
    trust_curve text,
    entities text[] DEFAULT '{}'::text[] NOT NULL,
    embedding public.vector(256),
    content text NOT NULL,
    content_hash bytea GENERATED ALWAYS AS (pgrecall.content_hash(content)) STORED NOT NULL,
    embedding_model text,
    additional_types text[] DEFAULT '{}'::text[] NOT NULL,
    memory_nature text,
    content_type text,
    subject text,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    needs_review boolean DEFAULT false NOT NULL,
    trust_provenance double precision,
    trust_consensus double precision,
    trust_governance double precision,
    trust_usage double precision,
    component text,
    output_type text,
    domain text,
    category text,
    loop text,
    quality_score double precision,
    compliant boolean,
    requires_approval boolean DEFAULT false NOT NULL,
    has_errors boolean DEFAULT false NOT NULL,
    violates_policy boolean DEFAULT false NOT NULL,
    under_policy_review boolean DEFAULT false NOT NULL,
    observed_at timestamp with time zone,
    invalidation_reason text,
    superseded_by uuid,
    inserted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    terms tsvector GENERATED ALWAYS AS (pgrecall.lexemes(content)) STORED NOT NULL,
    tokens integer,
    CONSTRAINT ck_agent_memories_agent_id CHECK (((agent_id <> ''::text) AND (agent_id <> 'team:'::text) AND (length(agent_id) <= 205))),
    CONSTRAINT ck_agent_memories_confidence CHECK (((confidence = (0)::double precision) OR ((confidence >= '1e-100'::double precision) AND (confidence <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_content CHECK (((content <> ''::text) AND (octet_length(content) <= 2097152))),
    CONSTRAINT ck_agent_memories_created_at CHECK (((created_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (created_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_embedding CHECK (((public.vector_norm(embedding) >= '1e-15'::double precision) AND (public.vector_norm(embedding) <= '1e+15'::double precision))),
    CONSTRAINT ck_agent_memories_expires_at CHECK (((expires_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (expires_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_importance CHECK (((importance = (0)::double precision) OR ((importance >= '1e-100'::double precision) AND (importance <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_inserted_at CHECK (((inserted_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (inserted_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_invalidated_at CHECK (((invalidated_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (invalidated_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_invalidation_reason CHECK ((invalidation_reason = ANY (ARRAY['superseded'::text, 'forgotten'::text]))),
    CONSTRAINT ck_agent_memories_memory_type CHECK (((memory_type <> ''::text) AND (length(memory_type) <= 200))),
    CONSTRAINT ck_agent_memories_metadata CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    CONSTRAINT ck_agent_memories_observed_at CHECK (((observed_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (observed_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_quality_score CHECK (((quality_score = (0)::double precision) OR ((quality_score >= '1e-100'::double precision) AND (quality_score <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_status CHECK ((status = ANY (ARRAY['active'::text, 'consolidated'::text, 'completed'::text, 'archived'::text]))),
    CONSTRAINT ck_agent_memories_tier CHECK ((tier = ANY (ARRAY['short'::text, 'medium'::text, 'long'::text]))),
    CONSTRAINT ck_agent_memories_tokens CHECK ((tokens >= 0)),
    CONSTRAINT ck_agent_memories_trust CHECK (((trust = (0)::double precision) OR ((trust >= '1e-100'::double precision) AND (trust <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_consensus CHECK (((trust_consensus = (0)::double precision) OR ((trust_consensus >= '1e-100'::double precision) AND (trust_consensus <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_curve CHECK ((trust_curve = ANY (ARRAY['hyperbolic'::text, 'exponential'::text, 'linear'::text]))),
    CONSTRAINT ck_agent_memories_trust_governance CHECK (((trust_governance = (0)::double precision) OR ((trust_governance >= '1e-100'::double precision) AND (trust_governance <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_half_life_hours CHECK (((trust_half_life_hours >= '0.001'::double precision) AND (trust_half_life_hours <= '1000000000'::double precision))),
    CONSTRAINT ck_agent_memories_trust_provenance CHECK (((trust_provenance = (0)::double precision) OR ((trust_provenance >= '1e-100'::double precision) AND (trust_provenance <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_usage CHECK (((trust_usage = (0)::double precision) OR ((trust_usage >= '1e-100'::double precision) AND (trust_usage <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_updated_at CHECK (((updated_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (updated_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_usefulness CHECK (((usefulness = (0)::double precision) OR ((usefulness >= '1e-100'::double precision) AND (usefulness <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_valid_from CHECK (((valid_from >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (valid_from <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_valid_until CHECK (((valid_until >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (valid_until <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_validity CHECK ((valid_from < valid_until))
);
ALTER TABLE ONLY pgrecall.agent_memories ALTER COLUMN embedding SET STORAGE PLAIN;

--
-- Name: TABLE agent_memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.agent_memories IS 'Memories of agents and teams, one row each; nothing here changes when one is retrieved.';

--
-- Name: COLUMN agent_memories.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.agent_id IS 'Its owner: an agent, or a team as team:<id>; every statement filters on it.';

--
-- Name: COLUMN agent_memories.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.id IS 'UUID made by the client, version 7.';

--
-- Name: COLUMN agent_memories.usefulness; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.usefulness IS 'Posterior mean of helpfulness from feedback.';

--
-- Name: COLUMN agent_memories.confidence; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.confidence IS 'How sure the extraction was.';

--
-- Name: COLUMN agent_memories.importance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.importance IS 'How much it matters, 0 to 1.';

--
-- Name: COLUMN agent_memories.trust; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust IS 'Trust as stored, before decay; NULL: never assessed.';

--
-- Name: COLUMN agent_memories.trust_half_life_hours; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_half_life_hours IS 'Half-life of trust in hours.';

--
-- Name: COLUMN agent_memories.created_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.created_at IS 'When it came to be; NULL: unknown.';

--
-- Name: COLUMN agent_memories.updated_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.updated_at IS 'Last change.';

--
-- Name: COLUMN agent_memories.valid_from; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.valid_from IS 'Start of validity, included; NULL: open.';

--
-- Name: COLUMN agent_memories.valid_until; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.valid_until IS 'End of validity, excluded; NULL: open.';

--
-- Name: COLUMN agent_memories.expires_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.expires_at IS 'From this moment on it is not recalled; NULL: never.';

--
-- Name: COLUMN agent_memories.invalidated_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.invalidated_at IS 'When it was superseded or forgotten; NULL: it stands.';

--
-- Name: COLUMN agent_memories.status; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.status IS 'active, consolidated, completed or archived.';

--
-- Name: COLUMN agent_memories.tier; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.tier IS 'short, medium or long: how long it is meant to last.';

--
-- Name: COLUMN agent_memories.memory_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.memory_type IS 'Its kind, which is also its store.';

--
-- Name: COLUMN agent_memories.trust_curve; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_curve IS 'How trust decays: hyperbolic, exponential or linear.';

--
-- Name: COLUMN agent_memories.entities; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.entities IS 'Names of the people, places and things it mentions.';

--
-- Name: COLUMN agent_memories.embedding; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.embedding IS 'Direction of the meaning; NULL: not embedded.';

--
-- Name: COLUMN agent_memories.content; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.content IS 'What is remembered, at most 2 MiB of UTF-8.';

--
-- Name: COLUMN agent_memories.content_hash; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.content_hash IS 'SHA-256 of the normalised content; equal for exact duplicates.';

--
-- Name: COLUMN agent_memories.embedding_model; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.embedding_model IS 'The model that made the embedding.';

--
-- Name: COLUMN agent_memories.additional_types; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.additional_types IS 'Further kinds, where a memory has several.';

--
-- Name: COLUMN agent_memories.memory_nature; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.memory_nature IS 'semantic, episodic, procedural or a caller''s own word.';

--
-- Name: COLUMN agent_memories.content_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.content_type IS 'Media type or a caller''s own word for the form of content.';

--
-- Name: COLUMN agent_memories.subject; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.subject IS 'What it is about; newer memories supersede older ones per subject.';

--
-- Name: COLUMN agent_memories.tags; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.tags IS 'Free labels.';

--
-- Name: COLUMN agent_memories.metadata; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.metadata IS 'The caller''s own fields, a JSON object.';

--
-- Name: COLUMN agent_memories.needs_review; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.needs_review IS 'Feedback called it outdated.';

--
-- Name: COLUMN agent_memories.trust_provenance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_provenance IS 'Trust''s part from component and confidence.';

--
-- Name: COLUMN agent_memories.trust_consensus; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_consensus IS 'Trust''s part from quality.';

--
-- Name: COLUMN agent_memories.trust_governance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_governance IS 'Trust''s part from compliance.';

--
-- Name: COLUMN agent_memories.trust_usage; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_usage IS 'Trust''s part from outcomes of use.';

--
-- Name: COLUMN agent_memories.component; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.component IS 'The component that produced it.';

--
-- Name: COLUMN agent_memories.output_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.output_type IS 'reasoning, decision, action, observation and so on.';

--
-- Name: COLUMN agent_memories.domain; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.domain IS 'Domain of the output.';

--
-- Name: COLUMN agent_memories.category; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.category IS 'Category of the output.';

--
-- Name: COLUMN agent_memories.loop; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.loop IS 'The agent loop it came from.';

--
-- Name: COLUMN agent_memories.quality_score; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.quality_score IS 'Quality given by the producer; NULL: unknown.';

--
-- Name: COLUMN agent_memories.compliant; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.compliant IS 'Whether it passed governance; NULL: not judged.';

--
-- Name: COLUMN agent_memories.requires_approval; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.requires_approval IS 'Governance asks for approval.';

--
-- Name: COLUMN agent_memories.has_errors; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.has_errors IS 'Errors were found in it.';

--
-- Name: COLUMN agent_memories.violates_policy; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.violates_policy IS 'It violates a policy.';

--
-- Name: COLUMN agent_memories.under_policy_review; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.under_policy_review IS 'A policy review is open.';

--
-- Name: COLUMN agent_memories.observed_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.observed_at IS 'When it was observed, where that differs.';

--
-- Name: COLUMN agent_memories.invalidation_reason; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.invalidation_reason IS 'superseded or forgotten.';

--
-- Name: COLUMN agent_memories.superseded_by; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.superseded_by IS 'The memory that took its place.';

--
-- Name: COLUMN agent_memories.inserted_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.inserted_at IS 'When this row was written by the server''s clock.';

--
-- Name: COLUMN agent_memories.terms; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.terms IS 'The words of content as they are compared, with their places.';

--
-- Name: COLUMN agent_memories.tokens; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.tokens IS 'What content takes up in a prompt, as its writer counted; NULL: estimated when a context is packed.';

--
-- Name: alembic_version; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.alembic_version (
    version_num character varying(32) NOT NULL
);

--
-- Name: TABLE alembic_version; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.alembic_version IS 'The migrations this schema is at.';

--
-- Name: COLUMN alembic_version.version_num; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.alembic_version.version_num IS 'A revision.';

--
-- Name: component_reputations; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.component_reputations (
    component text NOT NULL,
    reputation double precision NOT NULL,
    CONSTRAINT ck_component_reputations_reputation CHECK (((reputation = (0)::double precision) OR ((reputation >= '1e-100'::double precision) AND (reputation <= (1)::double precision))))
);

--
-- Name: TABLE component_reputations; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.component_reputations IS 'Reputations that trust on write starts from; to be edited.';

--
-- Name: COLUMN component_reputations.component; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.component_reputations.component IS 'The component that produces memories; *: any other.';

--
-- Name: COLUMN component_reputations.reputation; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.component_reputations.reputation IS 'How far it is trusted, 0 to 1.';

--
-- Name: gc_runs; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.gc_runs (
    agent_id text NOT NULL,
    id uuid NOT NULL,
    policy text NOT NULL,
    min_trust_threshold double precision,
    delete_threshold double precision,
    max_age_hours double precision,
    max_live bigint,
    scanned bigint NOT NULL,
    archived bigint NOT NULL,
    deleted bigint NOT NULL,
    swept bigint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seconds double precision NOT NULL,
    finished boolean NOT NULL,
    CONSTRAINT ck_gc_runs_started_at CHECK (((started_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (started_at <= '9999-12-30 00:00:00+00'::timestamp with time zone)))
);

--
-- Name: TABLE gc_runs; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.gc_runs IS 'Runs of the garbage collection; a dry run leaves none.';

--
-- Name: COLUMN gc_runs.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.agent_id IS 'Whose memories were looked at; empty: those of every owner.';

--
-- Name: COLUMN gc_runs.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.id IS 'The run, a UUID of version 7.';

--
-- Name: COLUMN gc_runs.policy; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.policy IS 'The policy''s name.';

--
-- Name: COLUMN gc_runs.min_trust_threshold; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.min_trust_threshold IS 'Trust below which it archived.';

--
-- Name: COLUMN gc_runs.delete_threshold; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.delete_threshold IS 'Trust below which it deleted.';

--
-- Name: COLUMN gc_runs.max_age_hours; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.max_age_hours IS 'Age above which it archived.';

--
-- Name: COLUMN gc_runs.max_live; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.max_live IS 'Live memories an owner could keep.';

--
-- Name: COLUMN gc_runs.scanned; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.scanned IS 'Live memories looked at.';

--
-- Name: COLUMN gc_runs.archived; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.archived IS 'Memories archived.';

--
-- Name: COLUMN gc_runs.deleted; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.deleted IS 'Memories deleted.';

--
-- Name: COLUMN gc_runs.swept; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.swept IS 'Counters, labels and links of memories that are gone, removed.';

--
-- Name: COLUMN gc_runs.started_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.started_at IS 'When it began.';

--
-- Name: COLUMN gc_runs.seconds; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.seconds IS 'How long it took.';

--
-- Name: COLUMN gc_runs.finished; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.gc_runs.finished IS 'Whether it came to its end.';

--
-- Name: memory_events; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.memory_events (
    agent_id text NOT NULL,
    memory_id uuid NOT NULL,
    id uuid NOT NULL,
    event_type text NOT NULL,
    reason text,
    actor text,
    old_values jsonb,
    new_values jsonb,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    occurred_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ck_memory_events_occurred_at CHECK (((occurred_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (occurred_at <= '9999-12-30 00:00:00+00'::timestamp with time zone)))
);

--
-- Name: TABLE memory_events; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.memory_events IS 'What happened to memories, append-only; a retrieval leaves no row.';

--
-- Name: COLUMN memory_events.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.agent_id IS 'Whose memory it tells of.';

--
-- Name: COLUMN memory_events.memory_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.memory_id IS 'The memory it tells of.';

--
-- Name: COLUMN memory_events.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.id IS 'UUID made by the client, version 7.';

--
-- Name: COLUMN memory_events.event_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.event_type IS 'What happened.';

--
-- Name: COLUMN memory_events.reason; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.reason IS 'Why, in the caller''s words.';

--
-- Name: COLUMN memory_events.actor; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.actor IS 'Who did it.';

--
-- Name: COLUMN memory_events.old_values; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.old_values IS 'Changed fields before.';

--
-- Name: COLUMN memory_events.new_values; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.new_values IS 'Changed fields after.';

--
-- Name: COLUMN memory_events.metadata; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.metadata IS 'The caller''s own fields, a JSON object.';

--
-- Name: COLUMN memory_events.occurred_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.occurred_at IS 'When.';

--
-- Name: memory_labels; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.memory_labels (
    agent_id text NOT NULL,
    memory_id uuid NOT NULL,
    kind text NOT NULL,
    value text NOT NULL,
    weight double precision DEFAULT 1 NOT NULL,
    CONSTRAINT ck_memory_labels_kind CHECK ((kind = ANY (ARRAY['keyword'::text, 'tag'::text, 'concept'::text, 'component'::text]))),
    CONSTRAINT ck_memory_labels_value CHECK (((value <> ''::text) AND (length(value) <= 200))),
    CONSTRAINT ck_memory_labels_weight CHECK (((weight = (0)::double precision) OR ((weight >= '1e-100'::double precision) AND (weight <= (1)::double precision))))
);

--
-- Name: TABLE memory_labels; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.memory_labels IS 'Labels of memories with a kind and a weight, to find memories by.';

--
-- Name: COLUMN memory_labels.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_labels.agent_id IS 'Whose memory it labels.';

--
-- Name: COLUMN memory_labels.memory_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_labels.memory_id IS 'The memory it labels.';

--
-- Name: COLUMN memory_labels.kind; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_labels.kind IS 'keyword, tag, concept or component.';

--
-- Name: COLUMN memory_labels.value; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_labels.value IS 'The label itself.';

--
-- Name: COLUMN memory_labels.weight; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_labels.weight IS 'How much it says of the memory, 0 to 1.';

--
-- Name: memory_links; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.memory_links (
    agent_id text NOT NULL,
    source_id uuid NOT NULL,
    target_id uuid NOT NULL,
    kind text NOT NULL,
    weight double precision DEFAULT 1 NOT NULL,
    CONSTRAINT ck_memory_links_kind CHECK (((kind <> ''::text) AND (length(kind) <= 200))),
    CONSTRAINT ck_memory_links_two_memories CHECK ((source_id <> target_id)),
    CONSTRAINT ck_memory_links_weight CHECK (((weight = (0)::double precision) OR ((weight >= '1e-100'::double precision) AND (weight <= (1)::double precision))))
);

--
-- Name: TABLE memory_links; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.memory_links IS 'Links between two memories of the same owner; followed in both directions.';

--
-- Name: COLUMN memory_links.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_links.agent_id IS 'Whose memories it links.';

--
-- Name: COLUMN memory_links.source_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_links.source_id IS 'The memory it starts from.';

--
-- Name: COLUMN memory_links.target_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_links.target_id IS 'The memory it leads to.';

--
-- Name: COLUMN memory_links.kind; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_links.kind IS 'What the link means: consolidates, or a caller''s own word.';

--
-- Name: COLUMN memory_links.weight; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_links.weight IS 'How strong it is, 0 to 1.';

--
-- Name: memory_usage; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.memory_usage (
    agent_id text NOT NULL,
    memory_id uuid NOT NULL,
    retrieval_count integer DEFAULT 0 NOT NULL,
    last_accessed_at timestamp with time zone,
    success_count integer DEFAULT 0 NOT NULL,
    failure_count integer DEFAULT 0 NOT NULL,
    feedback_up integer DEFAULT 0 NOT NULL,
    feedback_down integer DEFAULT 0 NOT NULL,
    CONSTRAINT ck_memory_usage_failure_count CHECK ((failure_count >= 0)),
    CONSTRAINT ck_memory_usage_feedback_down CHECK ((feedback_down >= 0)),
    CONSTRAINT ck_memory_usage_feedback_up CHECK ((feedback_up >= 0)),
    CONSTRAINT ck_memory_usage_last_accessed_at CHECK (((last_accessed_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (last_accessed_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_memory_usage_retrieval_count CHECK ((retrieval_count >= 0)),
    CONSTRAINT ck_memory_usage_success_count CHECK ((success_count >= 0))
)
WITH (fillfactor='70');

--
-- Name: TABLE memory_usage; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.memory_usage IS 'Counters of use, apart from agent_memories so that counting never touches a vector or its index; no row until the first retrieval.';

--
-- Name: COLUMN memory_usage.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.agent_id IS 'Whose memory it counts.';

--
-- Name: COLUMN memory_usage.memory_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.memory_id IS 'The memory it counts.';

--
-- Name: COLUMN memory_usage.retrieval_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.retrieval_count IS 'How often it was retrieved.';

--
-- Name: COLUMN memory_usage.last_accessed_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.last_accessed_at IS 'Last retrieval.';

--
-- Name: COLUMN memory_usage.success_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.success_count IS 'Uses that went well.';

--
-- Name: COLUMN memory_usage.failure_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.failure_count IS 'Uses that went wrong.';

--
-- Name: COLUMN memory_usage.feedback_up; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.feedback_up IS 'Feedback for it, weighed: useful 1.';

--
-- Name: COLUMN memory_usage.feedback_down; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.feedback_down IS 'Feedback against it, weighed: not_useful 1, outdated 1, incorrect 3.';

--
-- Name: memory_signals; Type: VIEW; Schema: pgrecall; Owner: -
--

CREATE VIEW pgrecall.memory_signals WITH (security_invoker='true') AS
 SELECT m.agent_id,
    m.id,
    m.memory_type,
    m.tier,
    m.status,
    pgrecall.is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now()) AS valid,
        CASE
            WHEN (m.created_at IS NOT NULL) THEN GREATEST((date_part('epoch'::text, (now() - m.created_at)) / (86400)::double precision), (0)::double precision)
            ELSE NULL::double precision
        END AS age_days,
        CASE
            WHEN (u.last_accessed_at IS NOT NULL) THEN GREATEST((date_part('epoch'::text, (now() - u.last_accessed_at)) / (86400)::double precision), (0)::double precision)
            ELSE NULL::double precision
        END AS days_since_access,
    COALESCE(u.retrieval_count, 0) AS retrieval_count,
    COALESCE(u.success_count, 0) AS success_count,
    COALESCE(u.failure_count, 0) AS failure_count,
    u.last_accessed_at,
    pgrecall.recency_exponential(m.created_at, now(), (0.05)::double precision, (0.5)::double precision) AS recency_five_factor,
    pgrecall.recency_exponential(COALESCE(u.last_accessed_at, m.created_at), now(), (0.05)::double precision, (0.5)::double precision) AS recency_last_access,
    pgrecall.recency_exponential(GREATEST(u.last_accessed_at, m.created_at), now(), ((0.6931471805599453 / (14)::numeric))::double precision, (0.5)::double precision) AS recency_half_life,
    pgrecall.recency_hyperbolic(m.created_at, now(), (7)::double precision, (0.5)::double precision) AS recency_trust,
    pgrecall.recency_exponential(COALESCE(u.last_accessed_at, m.created_at), now(), ((0.6931471805599453 /
        CASE m.tier
            WHEN 'short'::text THEN 0.25
            WHEN 'medium'::text THEN (7)::numeric
            ELSE (90)::numeric
        END))::double precision, (0.5)::double precision) AS recency_tiered,
    pgrecall.frequency(u.retrieval_count, (50)::double precision) AS frequency_five_factor,
    pgrecall.frequency(u.retrieval_count, (20)::double precision) AS frequency_tiered,
    m.usefulness,
    m.importance,
    m.confidence,
    m.trust,
    pgrecall.decayed_trust(m.trust, u.last_accessed_at, now(), m.trust_curve, m.trust_half_life_hours, NULL::double precision) AS decayed_trust
   FROM (pgrecall.agent_memories m
     LEFT JOIN pgrecall.memory_usage u ON (((u.agent_id = m.agent_id) AND (u.memory_id = m.id))));

--
-- Name: VIEW memory_signals; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON VIEW pgrecall.memory_signals IS 'Every memory with those of its signals that no query is needed for, as of now; filter on agent_id.';

--
-- Name: COLUMN memory_signals.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.agent_id IS 'Its owner: an agent, or a team as team:<id>.';

--
-- Name: COLUMN memory_signals.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.id IS 'The memory.';

--
-- Name: COLUMN memory_signals.memory_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.memory_type IS 'Its kind, which is also its store.';

--
-- Name: COLUMN memory_signals.tier; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.tier IS 'short, medium or long.';

--
-- Name: COLUMN memory_signals.status; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.status IS 'active, consolidated, completed or archived; only active ones are recalled unless asked for.';

--
-- Name: COLUMN memory_signals.valid; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.valid IS 'Whether it holds now: valid, not invalidated, not expired; says nothing of status.';

--
-- Name: COLUMN memory_signals.age_days; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.age_days IS 'Days since created_at, never negative; NULL: unknown.';

--
-- Name: COLUMN memory_signals.days_since_access; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.days_since_access IS 'Days since the last retrieval, never negative; NULL: never.';

--
-- Name: COLUMN memory_signals.retrieval_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.retrieval_count IS 'How often it was retrieved.';

--
-- Name: COLUMN memory_signals.success_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.success_count IS 'Uses that went well.';

--
-- Name: COLUMN memory_signals.failure_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.failure_count IS 'Uses that went wrong.';

--
-- Name: COLUMN memory_signals.last_accessed_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.last_accessed_at IS 'Last retrieval.';

--
-- Name: COLUMN memory_signals.recency_five_factor; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.recency_five_factor IS 'exp(-0.05 * days since creation); 0.5 where unknown.';

--
-- Name: COLUMN memory_signals.recency_last_access; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.recency_last_access IS 'exp(-0.05 * days since the last access, or creation); 0.5 where unknown.';

--
-- Name: COLUMN memory_signals.recency_half_life; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.recency_half_life IS 'Half-life 14 days since creation or last access, whichever is later; 0.5 where unknown.';

--
-- Name: COLUMN memory_signals.recency_trust; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.recency_trust IS '1 / (1 + days since creation / 7); 0.5 where unknown.';

--
-- Name: COLUMN memory_signals.recency_tiered; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.recency_tiered IS 'Half-life 6 hours, 7 or 90 days by tier, since the last access, or creation; 0.5 where unknown.';

--
-- Name: COLUMN memory_signals.frequency_five_factor; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.frequency_five_factor IS 'Retrievals as a share of 50, at most 1.';

--
-- Name: COLUMN memory_signals.frequency_tiered; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.frequency_tiered IS 'Retrievals as a share of 20, at most 1.';

--
-- Name: COLUMN memory_signals.usefulness; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.usefulness IS 'Posterior mean of helpfulness from feedback.';

--
-- Name: COLUMN memory_signals.importance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.importance IS 'How much it matters, 0 to 1.';

--
-- Name: COLUMN memory_signals.confidence; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.confidence IS 'How sure the extraction was.';

--
-- Name: COLUMN memory_signals.trust; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.trust IS 'Trust as stored, before decay; NULL: never assessed.';

--
-- Name: COLUMN memory_signals.decayed_trust; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.decayed_trust IS 'Trust now, decayed since the last access by the row''s own curve; NULL: never assessed.';

--
-- Name: output_type_defaults; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.output_type_defaults (
    output_type text NOT NULL,
    trust_curve text NOT NULL,
    trust_half_life_hours double precision NOT NULL,
    CONSTRAINT ck_output_type_defaults_trust_curve CHECK ((trust_curve = ANY (ARRAY['hyperbolic'::text, 'exponential'::text, 'linear'::text]))),
    CONSTRAINT ck_output_type_defaults_trust_half_life_hours CHECK (((trust_half_life_hours >= '0.001'::double precision) AND (trust_half_life_hours <= '1000000000'::double precision)))
);

--
-- Name: TABLE output_type_defaults; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.output_type_defaults IS 'Decay of trust where a memory says nothing of it; to be edited.';

--
-- Name: COLUMN output_type_defaults.output_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.output_type_defaults.output_type IS 'A kind of output; *: any other.';

--
-- Name: COLUMN output_type_defaults.trust_curve; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.output_type_defaults.trust_curve IS 'How its trust decays.';

--
-- Name: COLUMN output_type_defaults.trust_half_life_hours; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.output_type_defaults.trust_half_life_hours IS 'Half-life of its trust in hours.';

--
-- Name: rank_indexes; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.rank_indexes (
    agent_id text NOT NULL,
    relation text NOT NULL,
    space integer NOT NULL,
    as_of timestamp with time zone NOT NULL,
    built_at timestamp with time zone NOT NULL,
    memories bigint NOT NULL,
    at_least bigint NOT NULL,
    m integer NOT NULL,
    ef_construction integer NOT NULL,
    seconds double precision NOT NULL,
    candidates integer DEFAULT 100 NOT NULL,
    term_memories bigint,
    common_terms jsonb,
    likeness double precision,
    CONSTRAINT ck_rank_indexes_as_of CHECK (((as_of >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (as_of <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_rank_indexes_built_at CHECK (((built_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (built_at <= '9999-12-30 00:00:00+00'::timestamp with time zone)))
);

--
-- Name: TABLE rank_indexes; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.rank_indexes IS 'Rank indexes, one of an owner with many memories; derived and disposable.';

--
-- Name: COLUMN rank_indexes.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.agent_id IS 'Whose memories it ranks.';

--
-- Name: COLUMN rank_indexes.relation; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.relation IS 'The table of positions that is in use, in this schema.';

--
-- Name: COLUMN rank_indexes.space; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.space IS 'Version of the space they lie in.';

--
-- Name: COLUMN rank_indexes.as_of; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.as_of IS 'The moment the positions are of.';

--
-- Name: COLUMN rank_indexes.built_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.built_at IS 'What is written or changed from here on is not in it and is scored beside it.';

--
-- Name: COLUMN rank_indexes.memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.memories IS 'Memories in it.';

--
-- Name: COLUMN rank_indexes.at_least; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.at_least IS 'Used for searches from so many memories on.';

--
-- Name: COLUMN rank_indexes.m; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.m IS 'Links of a node of the HNSW graph.';

--
-- Name: COLUMN rank_indexes.ef_construction; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.ef_construction IS 'Candidates looked at for each node when it was built.';

--
-- Name: COLUMN rank_indexes.seconds; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.seconds IS 'How long the build took.';

--
-- Name: COLUMN rank_indexes.candidates; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.candidates IS 'How many a search takes from it at first, as measured when it was built.';

--
-- Name: COLUMN rank_indexes.term_memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.term_memories IS 'The owner''s memories when it was built.';

--
-- Name: COLUMN rank_indexes.common_terms; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.common_terms IS 'Terms that many of them had, and how many; others are counted.';

--
-- Name: COLUMN rank_indexes.likeness; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.likeness IS 'How similar to a query, by cosine, the likest that a walk meets usually is.';

--
-- Name: team_memories; Type: VIEW; Schema: pgrecall; Owner: -
--

CREATE VIEW pgrecall.team_memories WITH (security_invoker='true') AS
 SELECT substr(agent_id, 6) AS team_id,
    agent_id,
    id,
    memory_type,
    tier,
    status,
    importance,
    trust,
    created_at,
    content
   FROM pgrecall.agent_memories m
  WHERE starts_with(agent_id, 'team:'::text);

--
-- Name: VIEW team_memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON VIEW pgrecall.team_memories IS 'The memories of teams by their ids; the whole rows stand in agent_memories.';

--
-- Name: COLUMN team_memories.team_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.team_id IS 'The team, without team:.';

--
-- Name: COLUMN team_memories.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.agent_id IS 'The owner as it is stored, team:<id>.';

--
-- Name: COLUMN team_memories.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.id IS 'The memory.';

--
-- Name: COLUMN team_memories.memory_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.memory_type IS 'Its kind, which is also its store.';

--
-- Name: COLUMN team_memories.tier; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.tier IS 'short, medium or long.';

--
-- Name: COLUMN team_memories.status; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.status IS 'active, consolidated, completed or archived.';

--
-- Name: COLUMN team_memories.importance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.importance IS 'How much it matters, 0 to 1.';

--
-- Name: COLUMN team_memories.trust; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.trust IS 'Trust as stored, before decay; NULL: never assessed.';

--
-- Name: COLUMN team_memories.created_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.created_at IS 'When it came to be; NULL: unknown.';

--
-- Name: COLUMN team_memories.content; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.content IS 'What is remembered.';

--
-- Name: telling_terms; Type: VIEW; Schema: pgrecall; Owner: -
--

CREATE VIEW pgrecall.telling_terms WITH (security_invoker='true') AS
 SELECT counted.agent_id,
    counted.term,
    counted.memories,
    pgrecall.term_weight(counted.memories, owners.total) AS weight,
    (((counted.memories)::double precision / (owners.total)::double precision) * pgrecall.term_weight(counted.memories, owners.total)) AS telling
   FROM (( SELECT m.agent_id,
            each.term,
            count(*) AS memories
           FROM (pgrecall.agent_memories m
             CROSS JOIN LATERAL unnest(tsvector_to_array(m.terms)) each(term))
          GROUP BY m.agent_id, each.term) counted
     JOIN ( SELECT m.agent_id,
            count(*) AS total
           FROM pgrecall.agent_memories m
          GROUP BY m.agent_id) owners ON ((owners.agent_id = counted.agent_id)));

--
-- Name: VIEW telling_terms; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON VIEW pgrecall.telling_terms IS 'The terms of every owner''s memories; filter on agent_id and order by telling to see what they are about.';

--
-- Name: COLUMN telling_terms.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.telling_terms.agent_id IS 'Whose memories have it: an agent, or a team as team:<id>.';

--
-- Name: COLUMN telling_terms.term; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.telling_terms.term IS 'A word as it is compared: without its ending, accents and case.';

--
-- Name: COLUMN telling_terms.memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.telling_terms.memories IS 'How many of the owner''s memories have it.';

--
-- Name: COLUMN telling_terms.weight; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.telling_terms.weight IS 'Its weight in the keyword signal: ln(1 + (N - n + 0.5) / (n + 0.5)).';

--
-- Name: COLUMN telling_terms.telling; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.telling_terms.telling IS 'The share of memories that have it, times its weight.';

--
-- Name: tier_defaults; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.tier_defaults (
    tier text NOT NULL,
    expires_after_hours double precision,
    is_default boolean DEFAULT false NOT NULL,
    CONSTRAINT ck_tier_defaults_expires_after_hours CHECK (((expires_after_hours >= '0.001'::double precision) AND (expires_after_hours <= '10000000'::double precision))),
    CONSTRAINT ck_tier_defaults_tier CHECK ((tier = ANY (ARRAY['short'::text, 'medium'::text, 'long'::text])))
);

--
-- Name: TABLE tier_defaults; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.tier_defaults IS 'Expiry by tier where a memory says nothing of it; to be edited.';

--
-- Name: COLUMN tier_defaults.tier; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.tier_defaults.tier IS 'short, medium or long.';

--
-- Name: COLUMN tier_defaults.expires_after_hours; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.tier_defaults.expires_after_hours IS 'How long after being written a memory of this tier expires; NULL: never.';

--
-- Name: COLUMN tier_defaults.is_default; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.tier_defaults.is_default IS 'The tier of a memory that names none.';

--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);

--
-- Name: agent_memories pk_agent_memories; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.agent_memories
    ADD CONSTRAINT pk_agent_memories PRIMARY KEY (agent_id, id);

--
-- Name: component_reputations pk_component_reputations; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.component_reputations
    ADD CONSTRAINT pk_component_reputations PRIMARY KEY (component);

--
-- Name: gc_runs pk_gc_runs; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.gc_runs
    ADD CONSTRAINT pk_gc_runs PRIMARY KEY (agent_id, id);

--
-- Name: memory_events pk_memory_events; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.memory_events
    ADD CONSTRAINT pk_memory_events PRIMARY KEY (agent_id, memory_id, id);

--
-- Name: memory_labels pk_memory_labels; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.memory_labels
    ADD CONSTRAINT pk_memory_labels PRIMARY KEY (agent_id, memory_id, kind, value);

--
-- Name: memory_links pk_memory_links; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.memory_links
    ADD CONSTRAINT pk_memory_links PRIMARY KEY (agent_id, source_id, target_id, kind);

--
-- Name: memory_usage pk_memory_usage; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.memory_usage
    ADD CONSTRAINT pk_memory_usage PRIMARY KEY (agent_id, memory_id);

--
-- Name: output_type_defaults pk_output_type_defaults; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.output_type_defaults
    ADD CONSTRAINT pk_output_type_defaults PRIMARY KEY (output_type);

--
-- Name: rank_indexes pk_rank_indexes; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.rank_indexes
    ADD CONSTRAINT pk_rank_indexes PRIMARY KEY (agent_id);

--
-- Name: tier_defaults pk_tier_defaults; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.tier_defaults
    ADD CONSTRAINT pk_tier_defaults PRIMARY KEY (tier);

--
-- Name: ix_agent_memories_agent_id_content_hash; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE UNIQUE INDEX ix_agent_memories_agent_id_content_hash ON pgrecall.agent_memories USING btree (agent_id, content_hash) WHERE (status = 'active'::text);

--
-- Name: ix_agent_memories_agent_id_inserted_at; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_agent_memories_agent_id_inserted_at ON pgrecall.agent_memories USING btree (agent_id, inserted_at);

--
-- Name: ix_agent_memories_words; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_agent_memories_words ON pgrecall.agent_memories USING gin (pgrecall.term_keys(agent_id, terms)) WITH (fastupdate=off);

--
-- Name: ix_memory_events_agent_id_occurred_at; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_memory_events_agent_id_occurred_at ON pgrecall.memory_events USING btree (agent_id, occurred_at) WHERE (event_type <> 'initial'::text);

--
-- Name: ix_memory_labels_agent_id_value_kind; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_memory_labels_agent_id_value_kind ON pgrecall.memory_labels USING btree (agent_id, value, kind);

--
-- Name: ix_memory_links_agent_id_target_id; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_memory_links_agent_id_target_id ON pgrecall.memory_links USING btree (agent_id, target_id);

--
-- PostgreSQL database dump complete
--

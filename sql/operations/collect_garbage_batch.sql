CREATE FUNCTION collect_garbage_batch(
    agent text,
    after uuid DEFAULT NULL,
    min_trust_threshold float8 DEFAULT 0.2,
    max_age_hours float8 DEFAULT 720,
    delete_threshold float8 DEFAULT 0.1,
    policy text DEFAULT 'default',
    batch_size integer DEFAULT 1000
) RETURNS TABLE (scanned bigint, last_id uuid, archived bigint, deleted bigint)
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $operation$
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
$operation$;

COMMENT ON FUNCTION collect_garbage_batch IS
    'One batch of the garbage collection: the next memories of an agent after an id.';

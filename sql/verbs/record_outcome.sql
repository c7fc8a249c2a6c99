-- An outcome moves last_accessed_at even if its retrieval does not count. Counters are raised
-- first; then trust moves by them (trust_after_outcome). Trust that was never assessed stays NULL;
-- trust_usage is stored all the same.
CREATE OR REPLACE FUNCTION record_outcome(
    agent text, memory_id uuid, outcome text, touch boolean DEFAULT true, query text DEFAULT NULL,
    reason text DEFAULT NULL, actor text DEFAULT session_user, metadata jsonb DEFAULT '{}',
    key text DEFAULT NULL)
    RETURNS SETOF memory_records
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    success boolean := outcome = 'success';
    moment timestamptz := now();
    counted memory_usage;
    old record;
    new_trust float8;
    new_usage float8;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    PERFORM require_query(query);
    PERFORM require_one_of('outcome', outcome, @OUTCOMES@);
    PERFORM require(touch IS NOT NULL, 'touch must be true or false, got NULL');
    SELECT m.trust, trust_parts(m.trust, m.trust_provenance, m.trust_consensus, m.trust_governance,
                                m.trust_usage) AS parts INTO old FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = record_outcome.memory_id FOR NO KEY UPDATE;
    PERFORM require_found(agent, memory_id, FOUND);
    IF is_repeated(agent, memory_id, key) THEN
        RETURN QUERY SELECT @record: r.{}@ FROM memory_records r
                      WHERE r.agent_id = agent AND r.id = record_outcome.memory_id;
        RETURN;
    END IF;

    INSERT INTO memory_usage AS u
           (agent_id, memory_id, retrieval_count, success_count, failure_count, last_accessed_at)
    VALUES (agent, record_outcome.memory_id, touch::integer, success::integer,
            (NOT success)::integer, moment)
        ON CONFLICT (agent_id, memory_id) DO UPDATE
       SET retrieval_count = u.retrieval_count + excluded.retrieval_count,
           success_count = u.success_count + excluded.success_count,
           failure_count = u.failure_count + excluded.failure_count,
           last_accessed_at = greatest(u.last_accessed_at, excluded.last_accessed_at)
    RETURNING u.* INTO counted;
    new_trust := trust_after_outcome(old.trust, success, counted.success_count,
                                     counted.failure_count, counted.retrieval_count);
    new_usage := trust_usage(counted.success_count, counted.failure_count, counted.retrieval_count);
    UPDATE agent_memories m
       SET trust = new_trust, trust_usage = new_usage, updated_at = moment
     WHERE m.agent_id = agent AND m.id = record_outcome.memory_id;
    PERFORM log_events(agent, CASE WHEN success THEN 'reinforcement' ELSE 'penalty' END,
        ARRAY[memory_id], ARRAY[old.parts],
        ARRAY[old.parts || jsonb_build_object(
            'trust', new_trust, 'trust_usage', new_usage, 'success_count', counted.success_count,
            'failure_count', counted.failure_count, 'retrieval_count', counted.retrieval_count)],
        reason, actor, metadata || jsonb_strip_nulls(jsonb_build_object('query', query)), key);
    RETURN QUERY SELECT @record: r.{}@ FROM memory_records r
                  WHERE r.agent_id = agent AND r.id = record_outcome.memory_id;
END
$function$;

COMMENT ON FUNCTION record_outcome IS
    'Counts a success or failure of a memory''s use, and moves its trust and last_accessed_at. '
    'touch: also count a retrieval. query: the question that found it. key: the caller''s name for '
    'this outcome, which counts once, even if the call is repeated.';

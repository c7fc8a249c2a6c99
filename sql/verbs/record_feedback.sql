CREATE OR REPLACE FUNCTION record_feedback(
    agent text, memory_id uuid, kind text, context text DEFAULT NULL, query text DEFAULT NULL,
    actor text DEFAULT session_user, metadata jsonb DEFAULT '{}',
    key text DEFAULT NULL) RETURNS SETOF memory_records
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    up integer := greatest(feedback_votes(kind), 0);
    down integer := greatest(-feedback_votes(kind), 0);
    moment timestamptz := now();
    counted memory_usage;
    old record;
    new_usefulness float8;
    new_review boolean;
    new_tier text;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    PERFORM require_query(query);
    PERFORM require_one_of('feedback', kind, @FEEDBACK@);
    SELECT m.usefulness, m.needs_review, m.tier INTO old FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = record_feedback.memory_id FOR NO KEY UPDATE;
    PERFORM require_found(agent, memory_id, FOUND);
    IF is_repeated(agent, memory_id, key) THEN
        RETURN QUERY SELECT @record: r.{}@ FROM memory_records r
                      WHERE r.agent_id = agent AND r.id = record_feedback.memory_id;
        RETURN;
    END IF;

    INSERT INTO memory_usage AS u (agent_id, memory_id, feedback_up, feedback_down)
    VALUES (agent, record_feedback.memory_id, up, down)
        ON CONFLICT (agent_id, memory_id) DO UPDATE
       SET feedback_up = u.feedback_up + excluded.feedback_up,
           feedback_down = u.feedback_down + excluded.feedback_down
    RETURNING u.* INTO counted;
    -- The counters already include these votes.
    new_usefulness := usefulness_after_feedback(
        old.usefulness, counted.feedback_up - up, counted.feedback_down - down, up, down);
    new_review := old.needs_review OR kind = 'outdated';
    -- It decays faster from now on. The expiry stays, so that nothing is lost before the review.
    new_tier := CASE WHEN kind <> 'outdated' THEN old.tier
                     WHEN old.tier = 'long' THEN 'medium' ELSE 'short' END;
    UPDATE agent_memories m
       SET usefulness = new_usefulness, needs_review = new_review, tier = new_tier,
           updated_at = moment
     WHERE m.agent_id = agent AND m.id = record_feedback.memory_id;
    PERFORM log_events(agent, 'feedback', ARRAY[memory_id], ARRAY[to_jsonb(old)],
        ARRAY[jsonb_build_object('usefulness', new_usefulness, 'needs_review', new_review,
                                 'tier', new_tier, 'feedback_up', counted.feedback_up,
                                 'feedback_down', counted.feedback_down)],
        context, actor,
        metadata || jsonb_strip_nulls(jsonb_build_object('kind', kind, 'query', query)), key);
    RETURN QUERY SELECT @record: r.{}@ FROM memory_records r
                  WHERE r.agent_id = agent AND r.id = record_feedback.memory_id;
END
$function$;

COMMENT ON FUNCTION record_feedback IS
    'Counts feedback on a memory (useful, not_useful, outdated, incorrect) and moves its '
    'usefulness; outdated also marks it for review and moves its tier down. query: the question '
    'that found it. key: the caller''s name for this feedback, which counts once, even if the call '
    'is repeated.';

CREATE OR REPLACE FUNCTION prune(
    agent text, older_than interval DEFAULT NULL, below_score float8 DEFAULT NULL,
    profile text DEFAULT NULL, among uuid[] DEFAULT NULL, reason text DEFAULT 'pruned',
    actor text DEFAULT session_user, metadata jsonb DEFAULT '{}') RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    cutoff timestamptz;
    low uuid[];
    chosen uuid[];
BEGIN
    PERFORM require_note(agent, actor, metadata);
    IF older_than IS NULL AND below_score IS NULL AND among IS NULL THEN
        RAISE EXCEPTION 'prune needs older_than, below_score or among: without any it would '
            'archive all' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF older_than IS NOT NULL THEN
        PERFORM require_duration('older_than', older_than);
        cutoff := now() - make_interval(secs => date_part('epoch', older_than));
    END IF;
    IF below_score IS NOT NULL THEN
        PERFORM require_share('below_score', below_score);
        low := memories_below(agent, below_score,
                              coalesce(profile, default_profile('five_factor')));
    END IF;
    chosen := ARRAY(
        SELECT m.id FROM agent_memories m
         WHERE m.agent_id = agent AND m.status = 'active'
           AND (older_than IS NULL OR m.created_at < cutoff)
           AND (below_score IS NULL OR m.id = ANY (low))
           AND (among IS NULL OR m.id = ANY (among))
         ORDER BY m.id FOR NO KEY UPDATE);
    RETURN archive_memories(agent, chosen, 'archived', '{}', reason, actor, metadata);
END
$verb$;

COMMENT ON FUNCTION prune IS
    'Archives the active memories that meet every condition of the call: older_than; below_score '
    '(by a profile, without a query; by default that of set_default_profile, or five_factor); '
    'among (these ids). Returns their number.';

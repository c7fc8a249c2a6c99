-- For readers.
CREATE OR REPLACE FUNCTION expiry_of_tier(tier text) RETURNS timestamptz
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN (SELECT now() + d.expires_after_hours * interval '1 hour' FROM tier_defaults d
             WHERE d.tier = expiry_of_tier.tier);
END
$function$;

COMMENT ON FUNCTION expiry_of_tier IS
    'Returns the expiry of a memory that enters a tier now; NULL if it never expires.';

CREATE OR REPLACE FUNCTION move_tier(
    agent text, memory_ids uuid[], up boolean, reason text DEFAULT NULL,
    actor text DEFAULT session_user, metadata jsonb DEFAULT '{}') RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    ids uuid[];
    before jsonb[];
    step record;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    IF up IS NULL THEN
        RAISE EXCEPTION 'up must be true (short to medium to long) or false, got NULL'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT array_agg(l.id),
           array_agg(jsonb_build_object('tier', l.tier, 'expires_at', l.expires_at))
      INTO ids, before
      FROM (SELECT m.id, m.tier, m.expires_at FROM agent_memories m
             WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
               AND m.tier <> CASE WHEN up THEN 'long' ELSE 'short' END
             ORDER BY m.id FOR NO KEY UPDATE) l;
    -- The expiry is that of the new tier.
    FOR step IN
        SELECT s.tier, array_agg(l.id) AS ids, expiry_of_tier(s.tier) AS expires_at
          FROM unnest(ids, before) l(id, was)
          JOIN (VALUES ('short', true, 'medium'), ('medium', true, 'long'),
                       ('long', false, 'medium'), ('medium', false, 'short')) s(old, upwards, tier)
            ON s.old = l.was ->> 'tier' AND s.upwards = up
         GROUP BY s.tier LOOP
        UPDATE agent_memories m
           SET tier = step.tier, updated_at = moment, expires_at = step.expires_at
         WHERE m.agent_id = agent AND m.id = ANY (step.ids);
    END LOOP;
    PERFORM log_events(agent, CASE WHEN up THEN 'promoted' ELSE 'demoted' END, ids, before, ARRAY(
            SELECT jsonb_build_object('tier', m.tier, 'expires_at', m.expires_at)
              FROM unnest(ids) WITH ORDINALITY l(id, place)
              JOIN agent_memories m ON m.agent_id = agent AND m.id = l.id ORDER BY l.place),
        reason, actor, metadata);
    RETURN QUERY SELECT unnest(ids);
END
$function$;

COMMENT ON FUNCTION move_tier IS
    'Moves memories one tier up (short, medium, long) or down, and gives them the expiry of that '
    'tier. Returns the ids of the memories that moved.';

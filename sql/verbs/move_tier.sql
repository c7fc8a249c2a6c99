CREATE OR REPLACE FUNCTION move_tier(
    agent text, memory_ids uuid[], up boolean, reason text DEFAULT NULL,
    actor text DEFAULT session_user, metadata jsonb DEFAULT '{}') RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    ids uuid[];
    tiers text[];
    expiries timestamptz[];
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_note(reason, actor, metadata);
    IF up IS NULL THEN
        RAISE EXCEPTION 'up must be true (short to medium to long) or false, got NULL'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT array_agg(l.id), array_agg(l.tier), array_agg(l.expires_at)
      INTO ids, tiers, expiries
      FROM (SELECT m.id, m.tier, m.expires_at
              FROM agent_memories m
             WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
               AND m.tier <> CASE WHEN up THEN 'long' ELSE 'short' END
             ORDER BY m.id
               FOR NO KEY UPDATE) l;
    -- The new tier sets the expiry anew.
    UPDATE agent_memories m
       SET tier = moved.tier, expires_at = moved.expires_at, updated_at = moment
      FROM (SELECT l.id, t.tier, moment + t.expires_after_hours * interval '1 hour' AS expires_at
              FROM unnest(ids, tiers) l(id, tier)
              JOIN (VALUES ('short', 'medium', true), ('medium', 'long', true),
                           ('long', 'medium', false), ('medium', 'short', false)
                   ) step(old_tier, new_tier, upwards) ON step.old_tier = l.tier AND step.upwards = up
              LEFT JOIN tier_defaults d ON d.tier = step.new_tier
             CROSS JOIN LATERAL (SELECT step.new_tier AS tier, d.expires_after_hours) t) moved
     WHERE m.agent_id = agent AND m.id = moved.id;
    INSERT INTO memory_events (
           agent_id, memory_id, id, event_type, reason, actor, old_values, new_values, metadata,
           occurred_at)
    SELECT agent, l.id, event_id(), CASE WHEN up THEN 'promoted' ELSE 'demoted' END,
           move_tier.reason, move_tier.actor,
           jsonb_build_object('tier', l.tier, 'expires_at', l.expires_at),
           jsonb_build_object('tier', m.tier, 'expires_at', m.expires_at),
           move_tier.metadata, clock_timestamp()
      FROM unnest(ids, tiers, expiries) l(id, tier, expires_at)
      JOIN agent_memories m ON m.agent_id = agent AND m.id = l.id;
    RETURN QUERY SELECT unnest(ids);
END
$function$;

COMMENT ON FUNCTION move_tier IS
    'Moves memories one tier up (short, medium, long) or down, which sets their expiry anew. Returns the ids of those that moved.';

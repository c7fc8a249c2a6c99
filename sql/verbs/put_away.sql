-- For the verbs that give memories another status. The caller has locked them in the order of the
-- key; the event is written first, while the row still has its old status.
CREATE OR REPLACE FUNCTION put_away(
    agent text, ids uuid[], new_status text, more jsonb, reason text, actor text, metadata jsonb)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $change$
DECLARE
    moment timestamptz := now();
    changed bigint;
BEGIN
    INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor, old_values,
                               new_values, metadata, occurred_at)
    SELECT m.agent_id, m.id, event_id(), new_status, put_away.reason, put_away.actor,
           jsonb_build_object('status', m.status),
           jsonb_build_object('status', new_status) || more, put_away.metadata, clock_timestamp()
      FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = ANY (ids);
    UPDATE agent_memories m SET status = new_status, updated_at = moment
     WHERE m.agent_id = agent AND m.id = ANY (ids);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$change$;

COMMENT ON FUNCTION put_away IS
    'Gives memories that the caller has locked another status, and notes it; returns how many.';

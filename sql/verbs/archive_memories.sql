-- For consolidate_memories and maintenance, which give memories another status. They have selected
-- the memories FOR NO KEY UPDATE or FOR UPDATE, in the order of the key, so that nobody changes the
-- status between event and update.
CREATE OR REPLACE FUNCTION archive_memories(
    agent text, ids uuid[], new_status text, more jsonb, reason text, actor text, metadata jsonb)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $change$
DECLARE
    moment timestamptz := now();
    found uuid[];
    before jsonb[];
BEGIN
    SELECT array_agg(m.id), array_agg(jsonb_build_object('status', m.status)) INTO found, before
      FROM agent_memories m WHERE m.agent_id = agent AND m.id = ANY (ids);
    PERFORM log_events(agent, new_status, found, before,
        ARRAY[jsonb_build_object('status', new_status) || more], reason, actor, metadata);
    UPDATE agent_memories m SET status = new_status, updated_at = moment
     WHERE m.agent_id = agent AND m.id = ANY (found);
    RETURN coalesce(cardinality(found), 0);
END
$change$;

COMMENT ON FUNCTION archive_memories IS
    'Gives another status to memories that the caller has locked, and records events; returns '
    'their number.';

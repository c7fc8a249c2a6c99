-- As with a touch there is no event, and updated_at stays: only the time left has changed.
CREATE OR REPLACE FUNCTION _extend_expiry(agent text, memory_ids uuid[], expires_at timestamptz)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    ids uuid[];
BEGIN
    PERFORM require_owner(agent);
    PERFORM require(_extend_expiry.expires_at IS NOT NULL, 'expires_at must be a time, got NULL');
    ids := ARRAY(SELECT m.id FROM agent_memories m
                  WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
                    AND m.expires_at > moment AND m.expires_at < _extend_expiry.expires_at
                  ORDER BY m.id FOR NO KEY UPDATE);
    IF ids = '{}' THEN  -- an empty array matches the condition of every index
        RETURN 0;
    END IF;
    UPDATE agent_memories m SET expires_at = _extend_expiry.expires_at
     WHERE m.agent_id = agent AND m.id = ANY (ids);
    RETURN cardinality(ids);
END
$function$;

COMMENT ON FUNCTION _extend_expiry IS
    'Moves the expiry of these memories to a later time; returns the number of memories moved. '
    'Memories that never expire, have expired or expire later stay as they are. It records no '
    'event.';

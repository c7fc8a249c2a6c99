-- For maintainers.
-- Without sorting, the order forces the index in the order of time. Locked rows are skipped:
-- another run is deleting them. Places in the table stay the same while the rows are locked: events
-- do not change.
CREATE OR REPLACE FUNCTION lock_old_events(
    agent text, before timestamptz, batch_size integer, OUT places tid[], OUT gone uuid[])
    LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_sort = off AS $function$
BEGIN
    SELECT array_agg(o.ctid), array_agg(o.memory_id) FILTER (WHERE o.event_type = 'deleted')
      INTO places, gone
      FROM (SELECT e.ctid, e.memory_id, e.event_type FROM memory_events e
             WHERE e.agent_id = agent AND e.event_type <> 'initial' AND e.occurred_at < before
             ORDER BY e.occurred_at LIMIT batch_size FOR UPDATE SKIP LOCKED) o;
END
$function$;

COMMENT ON FUNCTION lock_old_events IS
    'Locks the oldest events of an owner, except for first ones, and returns their places and the '
    'memories that were deleted.';

-- The first event of a memory stays as long as the memory, and goes with the event of its deletion.
CREATE OR REPLACE FUNCTION expire_events_batch(
    agent text, max_event_age_hours float8, batch_size integer DEFAULT 1000) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    before timestamptz := events_expire_before(agent, max_event_age_hours);
    old record;
    expired bigint;
    firsts bigint;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_garbage_policy(NULL, NULL, NULL, NULL, max_event_age_hours, NULL, 'default');
    PERFORM require_count('batch_size', batch_size, 1, @MAX_BATCH@);
    SELECT * INTO old FROM lock_old_events(agent, before, batch_size);
    DELETE FROM memory_events e WHERE e.agent_id = agent AND e.ctid = ANY (old.places);
    GET DIAGNOSTICS expired = ROW_COUNT;
    DELETE FROM memory_events e
     WHERE e.agent_id = agent AND e.memory_id = ANY (old.gone) AND e.event_type = 'initial'
       AND e.occurred_at < before
       AND NOT EXISTS (SELECT FROM agent_memories m
                        WHERE m.agent_id = agent AND m.id = e.memory_id);
    GET DIAGNOSTICS firsts = ROW_COUNT;
    RETURN expired + firsts;
END
$verb$;

COMMENT ON FUNCTION expire_events_batch IS
    'Does one batch of the garbage collection: deletes the oldest events beyond '
    'max_event_age_hours, at most batch_size and the first events of memories whose deletion is '
    'among them. Returns their number. NULL deletes none.';

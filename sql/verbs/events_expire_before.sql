-- For readers.
-- A search through a rank index reads the memories that have changed since the index placed its
-- own, so events since then stay. A build that is under way is younger than the least age of a
-- policy.
CREATE OR REPLACE FUNCTION events_expire_before(agent text, max_event_age_hours float8)
    RETURNS timestamptz
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    IF max_event_age_hours IS NOT NULL THEN
        RETURN least(now() - max_event_age_hours * interval '1 hour',
                     (SELECT r.written_until FROM rank_indexes r WHERE r.agent_id = agent));
    END IF;
    RETURN NULL;
END
$function$;

COMMENT ON FUNCTION events_expire_before IS
    'Returns the moment before which events of an owner are older than the policy allows; NULL if '
    'it has no limit.';

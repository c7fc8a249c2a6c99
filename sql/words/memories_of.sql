CREATE OR REPLACE FUNCTION memories_of(agent text, moment timestamptz DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
    SET max_parallel_workers_per_gather = 0
    SET plan_cache_mode = force_generic_plan
AS $function$
BEGIN
    IF moment IS NULL THEN
        RETURN (SELECT count(*) FROM agent_memories m WHERE m.agent_id = agent);
    END IF;
    RETURN (SELECT count(*) FROM agent_memories m
             WHERE m.agent_id = agent AND coalesce(m.created_at <= moment, true));
END
$function$;

COMMENT ON FUNCTION memories_of IS
    'Returns the number of memories of an owner, whatever their status; with a moment, of those '
    'created by then.';

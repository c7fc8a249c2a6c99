-- Apart, because those who call it have forbidden the index scan that counts without the rows.
CREATE OR REPLACE FUNCTION memories_of(agent text) RETURNS bigint
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
    SET enable_indexscan = on
    SET enable_seqscan = on
    SET max_parallel_workers_per_gather = 0
    SET plan_cache_mode = force_generic_plan
AS $function$
BEGIN
    RETURN (SELECT count(*) FROM agent_memories m WHERE m.agent_id = agent);
END
$function$;

COMMENT ON FUNCTION memories_of IS 'How many memories an owner has, whatever their status.';

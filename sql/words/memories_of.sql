-- Apart, because those who call it have forbidden the index scan that counts without the rows.
CREATE FUNCTION memories_of(agent text, of_team boolean) RETURNS bigint
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
    SET enable_indexscan = on
    SET enable_seqscan = on
    SET max_parallel_workers_per_gather = 0
    SET plan_cache_mode = force_generic_plan
AS $function$
BEGIN
    RETURN (SELECT count(*) FROM memory_terms t
             WHERE t.agent_id = agent AND t.of_team = memories_of.of_team);
END
$function$;

COMMENT ON FUNCTION memories_of IS 'How many memories an owner has, whatever their status.';

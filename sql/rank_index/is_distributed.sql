CREATE OR REPLACE FUNCTION is_distributed() RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    found boolean := false;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE 'SELECT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = $1)'
           INTO found USING 'agent_memories'::regclass;
    END IF;
    RETURN found;
END
$function$;

COMMENT ON FUNCTION is_distributed IS
    'Returns true if Citus distributes the tables over several nodes.';

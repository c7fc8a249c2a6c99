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

COMMENT ON FUNCTION is_distributed IS 'Whether Citus distributes the tables over several nodes.';

CREATE OR REPLACE FUNCTION require_one_node() RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    IF is_distributed() THEN
        RAISE EXCEPTION 'rank indexes cannot be built on tables that Citus distributes; searches there '
            'score every memory of an owner' USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_one_node IS
    'Raises invalid_parameter_value where the tables are distributed, since positions lie on one node.';

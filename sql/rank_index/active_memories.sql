-- The condition on inserted_at is true of every row. With the order, it leads to the index in the
-- order of writing, whose rows lie together, whatever PostgreSQL expects of the owner.
CREATE OR REPLACE FUNCTION active_memories(agent text, most bigint DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET enable_sort = off AS $function$
BEGIN
    RETURN (SELECT count(*) FROM (
                SELECT FROM agent_memories m
                 WHERE m.agent_id = agent AND m.status = 'active' AND m.inserted_at >= '-infinity'
                 ORDER BY m.inserted_at LIMIT most) counted);
END
$function$;

COMMENT ON FUNCTION active_memories IS
    'Returns the number of active memories of an owner. It counts no further than most.';

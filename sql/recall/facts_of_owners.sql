-- The condition on inserted_at is true of every row. With the order, it leads to the index in the
-- order of writing, whose rows lie together, whatever PostgreSQL expects of the owner.
CREATE OR REPLACE FUNCTION facts_of_owners(
    agent text, others text[], large bigint,
    OUT is_large boolean, OUT has_names boolean, OUT has_subjects boolean)
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT SET enable_seqscan = off
    SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
    owners text[] := agent || others;
    one text;
    counted bigint := 0;
BEGIN
    FOREACH one IN ARRAY owners LOOP
        counted := counted + (
            SELECT count(*) FROM (
                SELECT 1 FROM agent_memories m
                 WHERE m.agent_id = one AND m.inserted_at >= '-infinity'
                 ORDER BY m.inserted_at LIMIT large + 1 - counted) its);
    END LOOP;
    is_large := counted > large;
    has_names := EXISTS (SELECT 1 FROM entity_names n WHERE n.agent_id = ANY (owners));
    has_subjects := EXISTS (SELECT 1 FROM entity_names n
                             WHERE n.agent_id = ANY (owners) AND n.kind = 'subject');
END
$function$;

COMMENT ON FUNCTION facts_of_owners IS
    'Returns true if these owners have more than so many memories together, if there are names by '
    'which questions may call what is in them, and if subjects are among these.';

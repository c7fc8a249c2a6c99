-- The settings hold inside the function and return to what they were when it ends. A table that is
-- gone was replaced by maintenance since its name was read, one that may not be read was built
-- before the role was granted to: there is nothing then, and whoever asked ranks exactly.
CREATE FUNCTION rank_candidates(
    relation text, query text, candidates integer, ef_search integer) RETURNS SETOF uuid
    LANGUAGE plpgsql VOLATILE ROWS 200
    SET search_path FROM CURRENT
    SET hnsw.ef_search = 40
    SET hnsw.iterative_scan = 'off'
    SET enable_seqscan = off
AS $function$
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM set_config('hnsw.ef_search', ef_search::text, true);
    RETURN QUERY EXECUTE format(
        'SELECT memory_id FROM %I ORDER BY position <#> $1 LIMIT $2', relation)
        USING query::halfvec, candidates;
EXCEPTION WHEN undefined_table OR insufficient_privilege THEN
    RETURN;
END
$function$;

COMMENT ON FUNCTION rank_candidates IS
    'The memories whose positions have the largest inner products with the query, best first: candidates for exact scoring. ef_search up to 1000: how many the walk through the graph keeps.';

-- How far a walk has to look to find what there is differs from data to data, so it is measured on
-- the graph itself: each direction is answered once by all positions and then by walks that keep
-- ever more candidates.
CREATE FUNCTION calibrated_candidates(
    relation text, directions text[], hits integer, levels integer[], recall float8)
    RETURNS integer
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
    SET hnsw.ef_search = 40
    SET hnsw.iterative_scan = 'off'
    SET enable_seqscan = on
    SET enable_indexscan = on
AS $function$
DECLARE
    nearest text;
    direction text;
    best uuid[];
    walked uuid[];
    found bigint[] := array_fill(0, ARRAY[cardinality(levels)]);
    there bigint := 0;
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    nearest := format('SELECT array_agg(memory_id) FROM (SELECT memory_id FROM %I '
                      'ORDER BY position <#> $1 LIMIT $2) nearest', relation);
    FOREACH direction IN ARRAY directions LOOP
        PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_seqscan', 'on', true);
        EXECUTE nearest INTO best USING direction::halfvec, hits;
        there := there + cardinality(best);
        PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_seqscan', 'off', true);
        FOR place IN 1 .. cardinality(levels) LOOP
            PERFORM set_config('hnsw.ef_search', levels[place]::text, true);
            EXECUTE nearest INTO walked USING direction::halfvec, levels[place];
            found[place] := found[place]
                + (SELECT count(*) FROM unnest(walked) one WHERE one = ANY (best));
        END LOOP;
    END LOOP;
    RETURN coalesce(
        (SELECT min(level) FROM unnest(levels, found) measured(level, number)
          WHERE number >= recall * there),
        levels[cardinality(levels)]);
END
$function$;

COMMENT ON FUNCTION calibrated_candidates IS
    'The first of the levels at which a walk through the graph of a rank index finds this share of the hits of these directions, or the last.';

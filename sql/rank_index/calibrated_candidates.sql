-- How far a walk has to look to find what there is differs from data to data, so it is measured on
-- the graph itself: each direction is answered once by all positions and then by walks that keep
-- ever more candidates, until they do. A walk may also miss a whole group of memories that have
-- nothing in common with the others, which the share of all hits hardly shows: so there is a least
-- share for each direction too. How like a question what it meets is usually goes by the landmarks:
-- of ten questions nine have none that is clearly more alike.
CREATE OR REPLACE FUNCTION calibrated_candidates(
    relation text, directions text[], hits integer, levels integer[], recall float8, worst float8,
    OUT candidates integer, OUT likeness float8)
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
    SET enable_seqscan = on
    SET enable_indexscan = on
AS $function$
DECLARE
    nearest text;
    direction text;
    level integer;
    walked uuid[];
    best uuid[] := '{}';
    each integer := 0;
    own bigint;
    fewest bigint;
    found bigint;
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'data_exception';
    END IF;
    nearest := format($$
        SELECT array_agg(memory_id) FROM (
            SELECT memory_id FROM %I
             ORDER BY position OPERATOR(@extschema:vector@.<#>) $1 LIMIT $2) nearest $$, relation);
    likeness := (
        SELECT percentile_cont(0.9) WITHIN GROUP (
                   ORDER BY nearest_landmark(relation, asked) / @extschema:vector@.l2_norm(asked)) / 1.25
          FROM unnest(directions) one, meaning(one::@extschema:vector@.halfvec) asked WHERE @extschema:vector@.l2_norm(asked) > 0);
    PERFORM set_config('enable_indexscan', 'off', true);
    FOREACH direction IN ARRAY directions LOOP
        EXECUTE nearest INTO walked USING direction::@extschema:vector@.halfvec, hits;
        best := best || walked;
        each := coalesce(cardinality(walked), 0);
    END LOOP;
    PERFORM set_config('enable_indexscan', 'on', true);
    FOR level IN SELECT one FROM unnest(levels) one ORDER BY one LOOP
        found := 0;
        fewest := each;
        FOR place IN 1 .. cardinality(directions) LOOP
            walked := ARRAY(SELECT n.memory_id
                              FROM near_positions(
                                  relation, directions[place]::@extschema:vector@.halfvec, level, 0, likeness) n);
            own := (SELECT count(*) FROM unnest(walked) one
                     WHERE one = ANY (best[(place - 1) * each + 1 : place * each]));
            found := found + own;
            fewest := least(fewest, own);
        END LOOP;
        IF found >= recall * cardinality(best) AND fewest >= worst * each THEN
            candidates := level;
            RETURN;
        END IF;
    END LOOP;
    candidates := (SELECT max(one) FROM unnest(levels) one);
END
$function$;

COMMENT ON FUNCTION calibrated_candidates IS
    'The fewest of the levels with which walks through the graph of a rank index find this share of the hits of these directions, and the worst of them its own least share; or the most. And the likeness: the cosine similarity to a query from which on what a walk has met is as like it as usual.';

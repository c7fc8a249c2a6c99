-- The distance that a walk has to go differs between data sets, so it is measured on the graph
-- itself: all positions answer each direction, and then walks that keep more and more candidates,
-- until they find enough. A walk may also miss a whole group of memories that resembles no other,
-- which hardly shows in the overall share. So each direction needs a least share too.
-- `likeness` is set so that for nine of ten directions, no landmark is clearly more similar than a
-- walk that met a memory as similar as this.
CREATE OR REPLACE FUNCTION calibrated_candidates(
    relation text, directions @extschema:vector@.halfvec[], best uuid[], levels integer[],
    recall float8, worst float8,
    OUT candidates integer, OUT likeness float8)
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    level integer;
    walked uuid[];
    each integer := cardinality(best) / greatest(cardinality(directions), 1);
    own bigint;
    fewest bigint;
    found bigint;
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'data_exception';
    END IF;
    IF coalesce(cardinality(best), 0) = 0 THEN
        candidates := levels[1];
        RETURN;
    END IF;
    likeness := (
        SELECT percentile_cont(0.9) WITHIN GROUP (
                   ORDER BY nearest_landmark(relation, asked)
                            / @extschema:vector@.l2_norm(asked)) / 1.25
          FROM unnest(directions) one, meaning(one) asked
         WHERE @extschema:vector@.l2_norm(asked) > 0);
    FOR level IN SELECT one FROM unnest(levels) one ORDER BY one LOOP
        found := 0;
        fewest := each;
        FOR place IN 1 .. cardinality(directions) LOOP
            walked := ARRAY(SELECT n.memory_id
                              FROM near_positions(
                                  relation, directions[place], level, likeness,
                                  3 * level / 2) n);
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
    'Returns the smallest of these levels at which walks through the graph of a rank index find '
    'the share recall of the best hits over all directions, and the share worst for each '
    'direction; the largest level if none does. The argument likeness is the usual cosine '
    'similarity between a query and the nearest memory that a walk meets.';

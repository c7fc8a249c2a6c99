-- The distance that a walk has to go differs between data sets and profiles, so it is measured on
-- the graph itself: all positions answer each direction, and then walks that keep more and more
-- candidates, until they find enough. A walk may also miss a whole group of memories that resembles
-- no other, which hardly shows in the overall share. So each direction needs a least share too.
-- Some dozen directions tell a level only roughly: the one after it is taken.
CREATE OR REPLACE FUNCTION calibrated_candidates(
    relation text, directions @extschema:vector@.halfvec[], best uuid[], places bigint[],
    likeness float8, levels integer[], recall float8, worst float8)
    RETURNS integer
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    each integer := cardinality(best) / greatest(cardinality(directions), 1);
    level integer;
    place bigint;
    own bigint;
    fewest bigint;
    found bigint;
    enough boolean := false;
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'data_exception';
    END IF;
    IF coalesce(each * cardinality(places), 0) = 0 THEN
        RETURN levels[1];
    END IF;
    FOR level IN SELECT one FROM unnest(levels) one ORDER BY one LOOP
        EXIT WHEN enough;
        found := 0;
        fewest := each;
        FOREACH place IN ARRAY places LOOP
            own := (SELECT count(*)
                      FROM near_positions(
                               relation, directions[place], level, likeness, 3 * level / 2) n
                     WHERE n.memory_id = ANY (best[(place - 1) * each + 1 : place * each]));
            found := found + own;
            fewest := least(fewest, own);
        END LOOP;
        enough := found >= recall * each * cardinality(places) AND fewest >= worst * each;
    END LOOP;
    RETURN level;
END
$function$;

COMMENT ON FUNCTION calibrated_candidates IS
    'Returns the level after the smallest of these at which walks through the graph of a rank '
    'index find the share recall of the best hits over the directions at these places, and the '
    'share worst for each of them; the largest level if none does. The argument best has equally '
    'many hits of each direction.';

CREATE OR REPLACE FUNCTION usual_likeness(relation text, directions @extschema:vector@.halfvec[])
    RETURNS float8
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN (
        SELECT percentile_cont(0.9) WITHIN GROUP (
                   ORDER BY nearest_landmark(relation, asked)
                            / @extschema:vector@.l2_norm(asked)) / 1.25
          FROM unnest(directions) one, meaning(one) asked
         WHERE @extschema:vector@.l2_norm(asked) > 0);
END
$function$;

COMMENT ON FUNCTION usual_likeness IS
    'Returns the cosine similarity that the nearest memory met by a walk usually has. For nine of '
    'ten of these directions, no landmark is clearly more similar than that.';

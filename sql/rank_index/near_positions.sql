-- A walk through the graph may never reach a group of memories that is unlike the place where it
-- starts. If all memories that it met are less similar to the query than usual, landmarks are
-- compared. If one of them is clearly more similar, the walk goes on, four times as far; if no walk
-- gets there, all positions are compared. This does not happen if meaning hardly counts: the best
-- memories may then be unlike the query.
CREATE OR REPLACE FUNCTION near_positions(
    relation text, query @extschema:vector@.halfvec, candidates integer, likeness float8,
    reach integer DEFAULT 0)
    RETURNS TABLE (memory_id uuid)
    LANGUAGE plpgsql VOLATILE ROWS 200 SET search_path FROM CURRENT AS $function$
DECLARE
    asked @extschema:vector@.halfvec := meaning(query);
    walked integer := greatest(candidates, reach);
    all_compared boolean := false;
    found record;
BEGIN
    LOOP
        SELECT * INTO found FROM walk(relation, query, asked, walked, all_compared);
        EXIT WHEN all_compared OR NOT has_missed(relation, asked, likeness, found.met, found.best);
        all_compared := walked = @MAX_CANDIDATES@;
        walked := least(4 * walked, @MAX_CANDIDATES@);
    END LOOP;
    RETURN QUERY SELECT unnest(found.ids[:candidates]);
END
$function$;

COMMENT ON FUNCTION near_positions IS
    'Returns memories of a rank index whose positions have the largest inner products with the '
    'query, largest first, at most @MAX_CANDIDATES@. It walks through the graph for `reach` of '
    'them or more, or reads all positions if landmarks show that walks miss some.';

-- The settings hold inside the function, which calls no other, and are restored when it ends.
CREATE OR REPLACE FUNCTION walk(
    relation text, query @extschema:vector@.halfvec, asked @extschema:vector@.halfvec,
    number integer, all_compared boolean, OUT ids uuid[], OUT met float8[], OUT best float8)
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
    SET hnsw.ef_search = 40
    SET hnsw.iterative_scan = 'off'
    SET enable_seqscan = off
    SET enable_indexscan = on
AS $function$
BEGIN
    PERFORM set_config('hnsw.ef_search', number::text, true);
    IF all_compared THEN
        PERFORM set_config('enable_indexscan', 'off', true),
                set_config('enable_seqscan', 'on', true);
    END IF;
    EXECUTE format($$
        SELECT array_agg(memory_id ORDER BY score DESC), array_agg(alike ORDER BY alike DESC),
               max(score)
          FROM (SELECT memory_id, -distance AS score,
                       -(position OPERATOR(@extschema:vector@.<#>) $2) AS alike
                  FROM ((SELECT *, position OPERATOR(@extschema:vector@.<#>) $1 AS distance
                           FROM %1$I WHERE NOT placed
                          ORDER BY position::@extschema:vector@.halfvec(%2$s)
                                   OPERATOR(@extschema:vector@.<#>) $1 LIMIT $3)
                         UNION ALL
                        SELECT *, position OPERATOR(@extschema:vector@.<#>) $1
                          FROM %1$I WHERE placed) every
                 ORDER BY distance LIMIT $3) near $$,
        relation, @extschema:vector@.vector_dims(query))
        INTO ids, met, best USING query, asked, number;
END
$function$;

COMMENT ON FUNCTION walk IS
    'Returns this number of memories of a rank index whose positions have the largest inner '
    'products with the query, largest first, by one walk through its graph or from all positions, '
    'and from those placed since the build. '
    'Also returns their inner products with the meaning of the query, largest first, and the best '
    'inner product.';

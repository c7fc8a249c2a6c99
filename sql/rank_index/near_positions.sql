-- A walk through the graph may never reach a group of memories that is unlike where the walk
-- starts. Where all that it met is less similar to the query than usual, landmarks are compared. If
-- one of them is clearly more similar, the walk goes on, four times as far; where no walk gets
-- there, all positions are compared. Not where meaning hardly counts: the best memories may then be
-- unlike the query.
-- The settings hold inside the function and are restored when it ends.
CREATE OR REPLACE FUNCTION near_positions(
    relation text, query @extschema:vector@.halfvec, candidates integer, likeness float8)
    RETURNS TABLE (memory_id uuid)
    LANGUAGE plpgsql VOLATILE ROWS 200
    SET search_path FROM CURRENT
    SET hnsw.ef_search = 40
    SET hnsw.iterative_scan = 'off'
    SET enable_seqscan = off
    SET enable_indexscan = on
AS $function$
DECLARE
    asked @extschema:vector@.halfvec := meaning(query);
    walked integer := candidates;
    all_compared boolean := false;
    ids uuid[];
    met float8[];
    best float8;
BEGIN
    LOOP
        PERFORM set_config('hnsw.ef_search', walked::text, true);
        EXECUTE format($$
            WITH near AS MATERIALIZED (
                SELECT memory_id, -(position OPERATOR(@extschema:vector@.<#>) $1) AS score, -(position OPERATOR(@extschema:vector@.<#>) $2) AS alike
                  FROM %I ORDER BY position OPERATOR(@extschema:vector@.<#>) $1 LIMIT $3
            )
            SELECT array_agg(memory_id ORDER BY score DESC), array_agg(alike ORDER BY alike DESC), max(score)
              FROM near $$, relation)
            INTO ids, met, best USING query, asked, walked;
        EXIT WHEN all_compared OR NOT has_missed(relation, asked, likeness, met, best);
        IF walked = 1000 THEN
            all_compared := true;
            PERFORM set_config('enable_indexscan', 'off', true),
                    set_config('enable_seqscan', 'on', true);
        END IF;
        walked := least(4 * walked, 1000);
    END LOOP;
    RETURN QUERY SELECT unnest(ids[:candidates]);
END
$function$;

COMMENT ON FUNCTION near_positions IS
    'Memories of a rank index whose positions have the largest inner products with the query, largest first: as a walk through its graph finds them, or from all positions where landmarks show that walks miss some. At most 1000.';

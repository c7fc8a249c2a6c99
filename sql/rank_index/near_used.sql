-- The small graph of used memories loses a group now and then. `known` holds some of its memories,
-- which the index itself has found. If the walk has missed one of these that is better than half of
-- the memories that it met, it goes on, four times as far; if no walk gets there, all positions are
-- compared. The settings hold inside the function and are restored when it ends.
CREATE OR REPLACE FUNCTION near_used(
    relation text, query @extschema:vector@.halfvec, candidates integer, known uuid[])
    RETURNS TABLE (memory_id uuid)
    LANGUAGE plpgsql VOLATILE ROWS 100
    SET search_path FROM CURRENT
    SET hnsw.ef_search = 40
    SET hnsw.iterative_scan = 'off'
    SET enable_seqscan = off
    SET enable_indexscan = on
AS $function$
DECLARE
    walked integer := candidates;
    ids uuid[];
    missed boolean;
BEGIN
    LOOP
        PERFORM set_config('hnsw.ef_search', least(walked, @MAX_CANDIDATES@)::text, true);
        EXECUTE format($$
            SELECT coalesce(array_agg(memory_id), '{}')
              FROM (SELECT memory_id FROM %I WHERE NOT placed
                     ORDER BY position::@extschema:vector@.halfvec(%s)
                              OPERATOR(@extschema:vector@.<#>) $1
                     LIMIT $2) near $$,
            relation, @extschema:vector@.vector_dims(query)) INTO ids USING query, candidates;
        EXIT WHEN known <@ ids OR walked > @MAX_CANDIDATES@;
        EXECUTE format($$
            SELECT EXISTS (
                SELECT FROM %1$I k
                 WHERE k.memory_id = ANY ($2) AND k.memory_id <> ALL ($3)
                   AND k.position OPERATOR(@extschema:vector@.<#>) $1 < coalesce(
                       (SELECT m.position OPERATOR(@extschema:vector@.<#>) $1
                          FROM %1$I m WHERE m.memory_id = $3[1 + $4 / 2]), 'infinity')) $$,
            relation)
            INTO missed USING query, known, ids, candidates;
        EXIT WHEN NOT missed;
        walked := 4 * walked;
        IF walked > @MAX_CANDIDATES@ THEN
            PERFORM set_config('enable_indexscan', 'off', true),
                    set_config('enable_seqscan', 'on', true);
        END IF;
    END LOOP;
    RETURN QUERY SELECT unnest(ids);
END
$function$;

COMMENT ON FUNCTION near_used IS
    'Returns memories from the table of used memories of a rank index whose positions have the '
    'largest inner products with the query, largest first. The argument known holds memories near '
    'the query, which show if the walk through the graph has missed a group.';

-- A walk through a graph may never reach a group of memories that have nothing in common with where
-- it starts. So some of the positions are looked at whatever the graph says: the first in the table,
-- which was filled in an order that has nothing to do with what they mean. Where one of them is
-- clearly more like the query in meaning than all that a walk has met, it has not met its group.
-- Only where positions lie in the rows themselves, as those of former builds need not: fetching
-- them from elsewhere takes longer than the walk.
CREATE FUNCTION landmark(relation text, query halfvec, OUT meaning halfvec, OUT needed float8)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $function$
DECLARE
    landmarks tid;
BEGIN
    SELECT format('(%s,0)', ceil(c.relpages * least(1000 / greatest(c.reltuples, 1), 0.02))),
           subvector(query, 1, a.atttypmod)
           || array_fill(0::real, ARRAY[vector_dims(query) - a.atttypmod])::halfvec
      INTO landmarks, meaning
      FROM pg_class c, pg_attribute a
     WHERE c.oid = to_regclass(relation) AND 'toast_tuple_target=8160' = ANY (c.reloptions)
       AND a.attrelid = to_regclass('agent_memories') AND a.attname = 'embedding';
    IF meaning IS NOT NULL THEN
        EXECUTE format('SELECT nullif(greatest(-min(position <#> $1), 0), 0) / 1.25 FROM %I '
                       'WHERE ctid < $2', relation)
            INTO needed USING meaning, landmarks;
    END IF;
END
$function$;

COMMENT ON FUNCTION landmark IS
    'The part of a query in the rank space that is about meaning, and the inner product with it that some position met by a walk through the graph of this rank index has to have, lest the walk has missed a whole group of memories; NULL where that cannot be told.';

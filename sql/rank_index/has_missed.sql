-- Landmarks are compared only if the walk met less than usual, since that can take half as long as
-- the walk. A walk that met a few memories of a group, such as the last ones written, may have
-- missed the others. The eighth memory is then much less similar.
CREATE OR REPLACE FUNCTION has_missed(
    relation text, meaning @extschema:vector@.halfvec, likeness float8, met float8[], best float8)
    RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    most float8 := least(met[1], 2 * met[least(8, cardinality(met))]);
    nearest float8;
BEGIN
    IF likeness IS NULL OR most >= likeness * @extschema:vector@.l2_norm(meaning) THEN
        RETURN false;
    END IF;
    nearest := nearest_landmark(relation, meaning);
    RETURN coalesce(nearest > 1.25 * coalesce(most, 0) AND nearest > coalesce(best, 0) / 8, false);
END
$function$;

COMMENT ON FUNCTION has_missed IS
    'Returns true if a walk has probably missed a group of memories. The array met holds the inner '
    'products of the memories that it found with the meaning of the query, largest first. A group '
    'is missed if these are smaller than usual (likeness) and clearly smaller than the inner '
    'product of a landmark, and if meaning matters beside best, the best inner product with the '
    'whole query.';

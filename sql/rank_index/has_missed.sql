-- The landmarks are looked at only where what was met is less like the query than it usually is:
-- that can take as long as half of the walk.
CREATE OR REPLACE FUNCTION has_missed(
    relation text, meaning @extschema:vector@.halfvec, likeness float8, met float8, best float8)
    RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    nearest float8;
BEGIN
    IF likeness IS NULL OR met >= likeness * @extschema:vector@.l2_norm(meaning) THEN
        RETURN false;
    END IF;
    nearest := nearest_landmark(relation, meaning);
    RETURN coalesce(nearest > 1.25 * coalesce(met, 0) AND nearest > coalesce(best, 0) / 8, false);
END
$function$;

COMMENT ON FUNCTION has_missed IS
    'Whether a walk has missed a group of memories: what it has met has at most this inner product with the meaning of the query, which is less than usual, the likeness of this rank index, and clearly less than that of a landmark; and meaning makes a difference beside the best inner product with all of the query.';

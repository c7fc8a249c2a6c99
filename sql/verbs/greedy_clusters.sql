-- For readers.
-- Arrays, because a recursive query would read all neighbours again for each step.
CREATE OR REPLACE FUNCTION greedy_clusters(
    centres integer[], counts integer[], near integer[], min_size integer)
    RETURNS TABLE (cluster integer, place integer, member integer)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $clusters$
DECLARE
    many integer := coalesce(cardinality(centres), 0);
    taken boolean[];
    first integer := 1;
    found integer[];
BEGIN
    cluster := 0;
    taken := array_fill(false, ARRAY[coalesce((SELECT max(c) FROM unnest(centres) c), 0)]);
    FOR n IN 1 .. many LOOP
        EXIT WHEN counts[n] + 1 < min_size;
        IF NOT taken[centres[n]] THEN
            found := ARRAY[centres[n]];
            FOR i IN first .. first + counts[n] - 1 LOOP
                IF NOT taken[near[i]] THEN
                    found := found || near[i];
                END IF;
            END LOOP;
            IF cardinality(found) >= min_size THEN
                cluster := cluster + 1;
                FOR i IN 1 .. cardinality(found) LOOP
                    taken[found[i]] := true;
                    place := i;
                    member := found[i];
                    RETURN NEXT;
                END LOOP;
            END IF;
        END IF;
        first := first + counts[n];
    END LOOP;
END
$clusters$;

COMMENT ON FUNCTION greedy_clusters(integer[], integer[], integer[], integer) IS
    'Groups of at least min_size: each centre in order, with those of its neighbours that no earlier one took. counts: how many neighbours each centre has, most first; near: the neighbours of the first centre, then of the second, and so on.';

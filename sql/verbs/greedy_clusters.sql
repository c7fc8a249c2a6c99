-- For readers.
-- The function takes arrays, because a recursive query would read all neighbours again for each
-- step.
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
    'Returns groups of at least min_size: each centre in order, with its neighbours that no '
    'earlier centre took. The array counts holds the number of neighbours of each centre, largest '
    'first; near holds the neighbours of the first centre, then of the second, and so on.';

-- One function for many comparisons: a condition for each took longer to write and to plan than the
-- memories took to read. An expression without a subquery is the fastest in PL/pgSQL.
CREATE OR REPLACE FUNCTION unmet_comparison(metadata jsonb, compared jsonb) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    one jsonb;
    operator text;
    asked jsonb;
    found jsonb;
    meets boolean;
BEGIN
    FOR place IN 0 .. jsonb_array_length(compared) - 1 LOOP
        one := compared -> place;
        operator := one ->> 'operator';
        asked := one -> 'value';
        found := metadata #> (one ->> 'path')::text[];
        IF operator IN ('$in', '$nin') AND jsonb_typeof(found) IN ('object', 'array') THEN
            -- Containment would find parts of an object, too.
            meets := (operator = '$in') = EXISTS (
                SELECT FROM jsonb_array_elements(asked) a(element) WHERE a.element = found);
        ELSIF operator IN ('$in', '$nin') THEN
            meets := (operator = '$in') = (found IS NOT NULL AND asked @> jsonb_build_array(found));
        ELSE
            meets := meets_comparison(found, operator, asked);
        END IF;
        IF NOT meets THEN
            RETURN place + 1;
        END IF;
    END LOOP;
    RETURN 0;
END
$function$;

COMMENT ON FUNCTION unmet_comparison IS
    'The place, from 1, of the first comparison of metadata_comparisons that the metadata does not '
    'meet; 0: it meets all.';

-- A query is a direction in the rank space. Only the direction depends on weights and time. The
-- facts of the profile say how much each signal takes of each axis; that share fades, or is
-- interpolated between moments.
CREATE OR REPLACE FUNCTION rank_direction(
    facts jsonb, weighed float8[], query agent_memories.embedding%TYPE, elapsed float8)
    RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    similarity float8 := (
        SELECT weighed[s.place]
          FROM jsonb_array_elements(facts -> 'signals') WITH ORDINALITY s(said, place)
         WHERE s.said ->> 'name' = 'similarity');
    meaning real[] := CASE WHEN query IS NULL THEN array_fill(
            0::real, ARRAY[embedding_dimensions()])
        ELSE @extschema:vector@.l2_normalize(query::@extschema:vector@.vector)::real[] END;
    coordinates float8[];
BEGIN
    coordinates := ARRAY(
        SELECT coalesce(sum(asked.weight * CASE
                   WHEN asked.half_life IS NOT NULL
                   THEN exp(greatest(-ln(2::float8) * elapsed / asked.half_life, -700))
                   WHEN elapsed <= asked.moment
                   THEN greatest(coalesce(
                       (elapsed - asked.before) / (asked.moment - asked.before), 1), 0)
                   WHEN elapsed > asked.moment
                   THEN greatest(coalesce(
                       (asked.after - elapsed) / (asked.after - asked.moment), 1), 0)
                   ELSE 1 END), 0)
          FROM generate_series(1, (facts -> 'axes')::integer) every(axis)
          LEFT JOIN (
                SELECT t.axis, weighed[s.place] * t.share AS weight,
                       t.half_life, t.moment, t.before, t.after
                  FROM jsonb_array_elements(facts -> 'signals') WITH ORDINALITY s(said, place),
                       jsonb_to_recordset(s.said -> 'terms') t(
                           axis integer, share float8, half_life float8,
                           moment float8, before float8, after float8)
                 WHERE query IS NOT NULL OR s.said ->> 'name' <> 'similarity') asked USING (axis)
         GROUP BY axis ORDER BY axis);
    RETURN format('[%s,%s,0]',
        (SELECT string_agg((one * coalesce(similarity, 0))::real::text, ',' ORDER BY place)
           FROM unnest(meaning) WITH ORDINALITY m(one, place)),
        array_to_string(coordinates, ','));
END
$function$;

COMMENT ON FUNCTION rank_direction IS
    'Returns the direction of a query by a profile with these weights, `elapsed` days after the '
    'moment of a rank index, as rank_candidates takes it.';

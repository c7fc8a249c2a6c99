CREATE OR REPLACE FUNCTION given_labels(
    labels text[], kinds text[], weights float8[], OUT label_kinds text[], OUT label_values text[],
    OUT label_weights float8[])
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    many integer := cardinality(labels);
    wrong text;
BEGIN
    IF labels IS NULL OR many > 1000 THEN
        RAISE EXCEPTION 'at most 1000 labels at once, got %; use several calls', coalesce(many::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF cardinality(kinds) NOT IN (1, many) IS NOT FALSE
          OR cardinality(weights) NOT IN (1, many) IS NOT FALSE THEN
        RAISE EXCEPTION 'kinds and weights must have one element for all labels or one for each of the %, '
            'got % and %', many, coalesce(cardinality(kinds), 0), coalesce(cardinality(weights), 0)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT value INTO wrong FROM unnest(labels) value
     WHERE (length(value) BETWEEN 1 AND 200) IS NOT TRUE LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a label must have 1 to 200 characters, got %', quote_nullable(left(wrong, 100))
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM require_one_of('kind', kind, '{keyword,tag,concept,component}') FROM unnest(kinds) kind;
    PERFORM require_share('weight', weight) FROM unnest(weights) weight;
    SELECT array_agg(each.kind), array_agg(each.value), array_agg(storable_share(each.weight))
      INTO label_kinds, label_values, label_weights
      FROM (SELECT DISTINCT ON (given.kind, given.value) given.kind, given.value, given.weight
              FROM unnest(
                       labels,
                       CASE WHEN cardinality(kinds) = many THEN kinds
                            ELSE array_fill(kinds[1], ARRAY[many]) END,
                       CASE WHEN cardinality(weights) = many THEN weights
                            ELSE array_fill(weights[1], ARRAY[many]) END)
                   WITH ORDINALITY given (value, kind, weight, place)
             ORDER BY given.kind, given.value, given.place DESC) each;
END
$function$;

COMMENT ON FUNCTION given_labels IS
    'Labels side by side in the order of the key, each once, the last counts; kinds and weights may have one element for all. Raises for what is no label.';

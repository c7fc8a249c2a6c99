-- One event records all labels. Labels of a memory change only while the memory is locked.
CREATE OR REPLACE FUNCTION label(
    agent text, memory_id uuid, labels text[], kinds text[] DEFAULT '{keyword}',
    weights float8[] DEFAULT '{1}', reason text DEFAULT NULL, actor text DEFAULT session_user,
    metadata jsonb DEFAULT '{}') RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    given record := given_labels(labels, kinds, weights);
    before jsonb;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    IF given.label_values IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM lock_memories(agent, ARRAY[memory_id]);
    before := noted_labels(agent, memory_id, given.label_kinds, given.label_values);
    INSERT INTO memory_labels (agent_id, memory_id, kind, value, weight)
    SELECT agent, label.memory_id, g.kind, g.value, g.weight
      FROM unnest(given.label_kinds, given.label_values, given.label_weights)
           g (kind, value, weight)
        ON CONFLICT (agent_id, memory_id, kind, value) DO UPDATE SET weight = excluded.weight;
    PERFORM log_events(agent, 'labelled', ARRAY[memory_id], ARRAY[before],
        ARRAY[jsonb_build_object('labels', (
            SELECT jsonb_agg(
                       jsonb_build_object('kind', g.kind, 'value', g.value, 'weight', g.weight)
                       ORDER BY g.kind, g.value)
              FROM unnest(given.label_kinds, given.label_values, given.label_weights)
                   g (kind, value, weight)))], reason, actor, metadata);
    RETURN cardinality(given.label_values);
END
$function$;

COMMENT ON FUNCTION label IS
    'Adds labels to a memory. A label of the same kind and value gets the new weight. The arrays '
    'kinds and weights have one element for all labels, or one for each. Returns the number of '
    'labels.';

CREATE OR REPLACE FUNCTION unlabel(
    agent text, memory_id uuid, labels text[], kinds text[] DEFAULT '{keyword}',
    reason text DEFAULT NULL, actor text DEFAULT session_user, metadata jsonb DEFAULT '{}')
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    given record := given_labels(labels, kinds, '{1}');
    before jsonb;
    gone bigint;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    IF given.label_values IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM lock_memories(agent, ARRAY[memory_id]);
    before := noted_labels(agent, memory_id, given.label_kinds, given.label_values);
    DELETE FROM memory_labels l
     USING unnest(given.label_kinds, given.label_values) g (kind, value)
     WHERE l.agent_id = agent AND l.memory_id = unlabel.memory_id
       AND l.kind = g.kind AND l.value = g.value;
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF gone > 0 THEN
        PERFORM log_events(agent, 'unlabelled', ARRAY[memory_id], ARRAY[before], '{"{}"}',
            reason, actor, metadata);
    END IF;
    RETURN gone;
END
$function$;

COMMENT ON FUNCTION unlabel IS
    'Removes labels from a memory, by value and kind (one for all, or one for each); returns the '
    'number that it had.';

CREATE OR REPLACE FUNCTION given_labels(
    labels text[], kinds text[], weights float8[], OUT label_kinds text[], OUT label_values text[],
    OUT label_weights float8[])
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    many integer := cardinality(labels);
    wrong text;
BEGIN
    IF labels IS NULL OR many > @MAX_VALUES@ THEN
        RAISE EXCEPTION 'at most @MAX_VALUES@ labels at once, got %; use several calls',
            coalesce(many::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF cardinality(kinds) NOT IN (1, many) IS NOT FALSE
          OR cardinality(weights) NOT IN (1, many) IS NOT FALSE THEN
        RAISE EXCEPTION 'kinds and weights must have one element for all labels or one for each of '
            'the %, got % and %',
            many, coalesce(cardinality(kinds), 0), coalesce(cardinality(weights), 0)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT value INTO wrong FROM unnest(labels) value
     WHERE (length(value) BETWEEN 1 AND @MAX_NAME_LENGTH@) IS NOT TRUE LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a label must have 1 to @MAX_NAME_LENGTH@ characters, got %',
            quote_nullable(left(wrong, 100))
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM require_one_of('kind', kind, @LABEL_KINDS@) FROM unnest(kinds) kind;
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
    'Returns labels as parallel arrays in the order of the key, each once (the last counts). The '
    'arrays kinds and weights may have one element for all. Raises an error for an invalid label.';

CREATE OR REPLACE FUNCTION noted_labels(
    agent text, memory_id uuid, kinds text[], label_values text[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    RETURN jsonb_build_object('labels', coalesce((
        SELECT jsonb_agg(jsonb_build_object('kind', l.kind, 'value', l.value, 'weight', l.weight)
                         ORDER BY l.kind, l.value)
          FROM unnest(kinds, label_values) g (kind, value)
          JOIN memory_labels l ON l.kind = g.kind AND l.value = g.value
         WHERE l.agent_id = agent AND l.memory_id = noted_labels.memory_id), '[]'));
END
$function$;

COMMENT ON FUNCTION noted_labels IS
    'Returns the labels among these that a memory has, as events record them.';

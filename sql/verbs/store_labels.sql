-- The function works on sets, for a batch that is locked or new in this transaction. Labels that a
-- memory has already with this weight leave no event, so a call can be repeated.
CREATE OR REPLACE FUNCTION store_labels(
    agent text, ids uuid[], labels jsonb[], reason text, actor text, metadata jsonb)
    RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    changed uuid[];
    before jsonb[];
    after jsonb[];
BEGIN
    SELECT array_agg(n.id), array_agg(jsonb_build_object('labels', coalesce(n.before, '[]'))),
           array_agg(jsonb_build_object('labels', n.after)) INTO changed, before, after
      FROM (SELECT i.id,
                   jsonb_agg(l || jsonb_build_object('weight', old.weight)
                             ORDER BY l ->> 'kind', l ->> 'value')
                       FILTER (WHERE old.weight IS NOT NULL) AS before,
                   jsonb_agg(l ORDER BY l ->> 'kind', l ->> 'value') AS after
              -- A memory may occur twice, since a batch may say the same twice.
              FROM (SELECT DISTINCT ON (i.id, l ->> 'kind', l ->> 'value') i.id, l
                      FROM unnest(ids, labels) WITH ORDINALITY i(id, labels, place)
                     CROSS JOIN LATERAL jsonb_array_elements(told_labels(i.labels)) l
                     ORDER BY i.id, l ->> 'kind', l ->> 'value', i.place DESC) i(id, l)
              -- OFFSET 0: each is looked up by key. A join might read all labels of the owner.
              LEFT JOIN LATERAL (SELECT m.weight FROM memory_labels m
                                  WHERE m.agent_id = agent AND m.memory_id = i.id
                                    AND m.kind = l ->> 'kind' AND m.value = l ->> 'value'
                                 OFFSET 0) old ON true
             WHERE old.weight IS DISTINCT FROM (l ->> 'weight')::float8
             GROUP BY i.id) n;
    INSERT INTO memory_labels (agent_id, memory_id, kind, value, weight)
    SELECT agent, n.id, l.kind, l.value, l.weight
      FROM unnest(changed, after) n(id, after)
     CROSS JOIN LATERAL jsonb_to_recordset(n.after -> 'labels')
                        l(kind text, value text, weight float8)
     ORDER BY n.id, l.kind, l.value
        ON CONFLICT (agent_id, memory_id, kind, value) DO UPDATE SET weight = excluded.weight;
    PERFORM log_events(agent, 'labelled', changed, before, after, reason, actor, metadata);
    RETURN QUERY SELECT unnest(changed);
END
$function$;

COMMENT ON FUNCTION store_labels IS
    'Adds labels to memories that are stored or locked: a JSON array for each id, or NULL for '
    'none. Records an event for each memory whose labels change, and returns their ids.';

-- Numbers are exact, whatever the session has set, since weights are stored from this JSON.
CREATE OR REPLACE FUNCTION told_labels(labels jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT
    SET extra_float_digits = 1 AS $function$
DECLARE
    given record;
    scale float8;
BEGIN
    IF coalesce(labels, 'null') = 'null' THEN
        RETURN '[]';
    END IF;
    PERFORM require(jsonb_typeof(labels) = 'array', format(
        'labels must be a JSON array of texts, or of objects with value, kind and weight, got %s',
        left(labels::text, 100)));
    scale := (SELECT greatest(max((l ->> 'weight')::float8), 1)
                FROM jsonb_array_elements(labels) l);
    SELECT * INTO given FROM given_labels(
        ARRAY(SELECT CASE jsonb_typeof(l) WHEN 'object' THEN l ->> 'value' ELSE l #>> '{}' END
                FROM jsonb_array_elements(labels) l),
        ARRAY(SELECT coalesce(l ->> 'kind', 'keyword') FROM jsonb_array_elements(labels) l),
        ARRAY(SELECT coalesce((l ->> 'weight')::float8, 1) / scale
                FROM jsonb_array_elements(labels) l));
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object(
                       'kind', l.kind, 'value', l.value, 'weight', l.weight)), '[]')
              FROM unnest(given.label_kinds, given.label_values, given.label_weights)
                   l(kind, value, weight));
END
$function$;

COMMENT ON FUNCTION told_labels IS
    'Reads a JSON array of labels: texts, or objects with value, kind (default keyword) and weight '
    '(default 1). Returns objects in the order of the key, each once (the last counts). If a '
    'weight is above 1, all are divided by the greatest. NULL is none. Raises an error for an '
    'invalid label.';

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
    'Those of these labels that a memory has, as an event tells of them.';

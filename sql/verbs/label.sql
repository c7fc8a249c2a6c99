-- One event tells of all labels. Only who has locked the memory changes its labels.
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
    PERFORM require_owner(agent);
    PERFORM require_note(label.reason, label.actor, label.metadata);
    IF given.label_values IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM lock_memories(agent, ARRAY[label.memory_id]);
    before := noted_labels(agent, label.memory_id, given.label_kinds, given.label_values);
    INSERT INTO memory_labels (agent_id, memory_id, kind, value, weight)
    SELECT agent, label.memory_id, g.kind, g.value, g.weight
      FROM unnest(given.label_kinds, given.label_values, given.label_weights) g (kind, value, weight)
        ON CONFLICT (agent_id, memory_id, kind, value) DO UPDATE SET weight = excluded.weight;

    INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor,
                               old_values, new_values, metadata, occurred_at)
    VALUES (agent, label.memory_id, event_id(), 'labelled', label.reason, label.actor,
            before, jsonb_build_object('labels', (
                SELECT jsonb_agg(jsonb_build_object('kind', g.kind, 'value', g.value, 'weight', g.weight)
                                 ORDER BY g.kind, g.value)
                  FROM unnest(given.label_kinds, given.label_values, given.label_weights)
                       g (kind, value, weight))),
            label.metadata, clock_timestamp());
    RETURN cardinality(given.label_values);
END
$function$;

COMMENT ON FUNCTION label IS
    'Gives a memory labels; one of the same kind and value that is there takes the new weight. kinds and weights: one for all, or one for each. Returns how many.';

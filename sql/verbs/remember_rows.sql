CREATE OR REPLACE FUNCTION remember_rows(
    agent text, memories agent_memories[], duplicates text DEFAULT 'bump',
    near_duplicates float8 DEFAULT NULL, check_compliance boolean DEFAULT true,
    actor text DEFAULT session_user, labels jsonb[] DEFAULT NULL)
    RETURNS TABLE (ordinal integer, memory_id uuid, outcome text, similarity float8)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    ordinals integer[];
    stored uuid[];
    outcomes text[];
    similarities float8[];
BEGIN
    IF labels IS NULL THEN
        RETURN QUERY SELECT * FROM store_memories(
            agent, memories, duplicates, near_duplicates, check_compliance, actor);
        RETURN;
    END IF;
    PERFORM require(cardinality(labels) = cardinality(memories), format(
        'labels must have one element for each of the %s memories, got %s',
        cardinality(memories), cardinality(labels)));
    SELECT array_agg(s.ordinal), array_agg(s.memory_id), array_agg(s.outcome),
           array_agg(s.similarity)
      INTO ordinals, stored, outcomes, similarities
      FROM store_memories(
          agent, memories, duplicates, near_duplicates, check_compliance, actor) s;
    -- A memory that is there already has its own, unless it is replaced.
    PERFORM store_labels(agent, array_agg(s.id ORDER BY s.ordinal),
                         array_agg(labels[s.ordinal] ORDER BY s.ordinal), NULL, actor, '{}')
       FROM unnest(ordinals, stored, outcomes) s(ordinal, id, outcome)
      WHERE s.outcome = 'inserted' OR s.outcome <> 'known' AND duplicates = 'replace';
    RETURN QUERY SELECT * FROM unnest(ordinals, stored, outcomes, similarities);
END
$function$;

COMMENT ON FUNCTION remember_rows IS
    'Stores memories made by new_memory, all or none. duplicates: what to do where the same memory exists (bump, keep, replace or allow). labels: for each memory a JSON array, see told_labels; stored with a new memory, and added to one that is replaced. outcome: inserted, known (this id or key was stored before), duplicate, near_duplicate or revived.';

CREATE OR REPLACE FUNCTION remember_rows(
    agent text, memories agent_memories[], duplicates text DEFAULT 'bump',
    near_duplicates float8 DEFAULT NULL, check_compliance boolean DEFAULT true,
    actor text DEFAULT session_user, labels jsonb[] DEFAULT NULL,
    supersede_subject boolean DEFAULT false, run text DEFAULT NULL)
    RETURNS TABLE (
        ordinal integer, memory_id uuid, outcome text, similarity float8, same_subject uuid[])
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    -- A sub-select, since planning for the values would copy the batch.
    have_subject boolean := EXISTS (
        SELECT FROM unnest((SELECT memories)) m WHERE m.subject IS NOT NULL);
    metadata jsonb := CASE WHEN run IS NULL THEN '{}' ELSE jsonb_build_object('run', run) END;
    ordinals integer[] := '{}';
    stored uuid[] := '{}';
    outcomes text[] := '{}';
    similarities float8[];
    new agent_memories;
BEGIN
    IF labels IS NULL AND NOT have_subject THEN
        RETURN QUERY
        SELECT s.ordinal, s.memory_id, s.outcome, s.similarity, '{}'::uuid[] FROM store_memories(
            agent, memories, duplicates, near_duplicates, check_compliance, actor, metadata) s;
        RETURN;
    END IF;
    PERFORM require(cardinality(labels) = cardinality(memories), format(
        'labels must have one element for each of the %s memories, got %s',
        cardinality(memories), cardinality(labels)))
      WHERE labels IS NOT NULL;
    IF supersede_subject AND have_subject THEN
        PERFORM require_incoming(
            agent, memories, duplicates, near_duplicates, check_compliance, actor);
        FOR n IN 1 .. cardinality(memories) LOOP
            ordinal := n;
            SELECT * INTO memory_id, outcome, similarity, same_subject FROM supersede_subject(
                agent, memories[n], duplicates, near_duplicates, check_compliance, actor,
                metadata);
            RETURN NEXT;
            ordinals := ordinals || ordinal;
            stored := stored || memory_id;
            outcomes := outcomes || outcome;
        END LOOP;
    ELSE
        SELECT array_agg(s.ordinal), array_agg(s.memory_id), array_agg(s.outcome),
               array_agg(s.similarity)
          INTO ordinals, stored, outcomes, similarities
          FROM store_memories(
              agent, memories, duplicates, near_duplicates, check_compliance, actor, metadata) s;
        FOR i IN 1 .. coalesce(cardinality(stored), 0) LOOP
            ordinal := ordinals[i];
            memory_id := stored[i];
            outcome := outcomes[i];
            similarity := similarities[i];
            new := memories[ordinal];
            new.id := memory_id;
            same_subject := CASE WHEN new.subject IS NULL THEN '{}'
                                 ELSE ARRAY(SELECT same_subject(agent, new)) END;
            RETURN NEXT;
        END LOOP;
    END IF;
    -- A memory that existed before has its own labels, unless it is replaced.
    PERFORM store_labels(agent, array_agg(s.id ORDER BY s.ordinal),
                         array_agg(labels[s.ordinal] ORDER BY s.ordinal), NULL, actor, metadata)
       FROM unnest(ordinals, stored, outcomes) s(ordinal, id, outcome)
      WHERE s.outcome = 'inserted' OR s.outcome <> 'known' AND duplicates = 'replace';
END
$function$;

COMMENT ON FUNCTION remember_rows IS
    'Stores memories made by new_memory, all or none. duplicates: the action if the same memory '
    'exists (bump, keep, replace or allow). labels: a JSON array for each memory, see told_labels; '
    'a new memory gets them, and a replaced one has them added. supersede_subject: each takes the '
    'place of the active memories of its subject. run: their source, in the metadata of the '
    'events. outcome: inserted, known (this id or key was stored before), duplicate, '
    'near_duplicate or revived. same_subject: other active memories of its subject, among the '
    'newest 20; with supersede_subject those that it superseded.';

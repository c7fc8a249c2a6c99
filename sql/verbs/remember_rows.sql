CREATE OR REPLACE FUNCTION remember_rows(
    agent text, memories agent_memories[], duplicates text DEFAULT 'bump',
    near_duplicates float8 DEFAULT NULL, check_compliance boolean DEFAULT true,
    actor text DEFAULT session_user, supersede_subject boolean DEFAULT false,
    run text DEFAULT NULL)
    RETURNS TABLE (
        ordinal integer, memory_id uuid, outcome text, similarity float8, same_subject uuid[])
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    -- A sub-select, since planning for the values would copy the batch.
    have_subject boolean := EXISTS (
        SELECT FROM unnest((SELECT memories)) m WHERE m.subject IS NOT NULL);
    metadata jsonb := CASE WHEN run IS NULL THEN '{}' ELSE jsonb_build_object('run', run) END;
    new agent_memories;
BEGIN
    IF NOT have_subject THEN
        RETURN QUERY
        SELECT s.ordinal, s.memory_id, s.outcome, s.similarity, '{}'::uuid[] FROM store_memories(
            agent, memories, duplicates, near_duplicates, check_compliance, actor, metadata) s;
    ELSIF supersede_subject THEN
        PERFORM require_incoming(
            agent, memories, duplicates, near_duplicates, check_compliance, actor);
        FOR n IN 1 .. cardinality(memories) LOOP
            ordinal := n;
            SELECT * INTO memory_id, outcome, similarity, same_subject FROM supersede_subject(
                agent, memories[n], duplicates, near_duplicates, check_compliance, actor,
                metadata);
            RETURN NEXT;
        END LOOP;
    ELSE
        FOR ordinal, memory_id, outcome, similarity IN
            SELECT s.ordinal, s.memory_id, s.outcome, s.similarity FROM store_memories(
                agent, memories, duplicates, near_duplicates, check_compliance, actor, metadata) s
        LOOP
            new := memories[ordinal];
            new.id := memory_id;
            same_subject := CASE WHEN new.subject IS NULL THEN '{}'
                                 ELSE ARRAY(SELECT same_subject(agent, new)) END;
            RETURN NEXT;
        END LOOP;
    END IF;
END
$function$;

COMMENT ON FUNCTION remember_rows IS
    'Stores memories made by new_memory, all or none. duplicates: the action if the same memory '
    'exists (bump, keep, replace or allow). supersede_subject: each takes the place of the active '
    'memories of its subject. run: their source, in the metadata of the events. outcome: inserted, '
    'known (this id or key was stored before), duplicate, near_duplicate or revived. same_subject: '
    'other active memories of its subject, among the newest 20; with supersede_subject those that '
    'it superseded.';

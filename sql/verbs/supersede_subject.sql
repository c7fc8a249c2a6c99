CREATE OR REPLACE FUNCTION same_subject(agent text, new agent_memories) RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
BEGIN
    RETURN QUERY
    SELECT m.id FROM agent_memories m
     WHERE m.agent_id = agent AND left(m.subject, 200) = left(new.subject, 200)
       AND m.subject = new.subject AND m.status = 'active' AND m.invalidated_at IS NULL
       AND m.content_hash <> content_hash(new.content)
       AND overlap(m.valid_from, m.valid_until, coalesce(new.valid_from, moment), new.valid_until)
       AND (m.expires_at <= moment) IS NOT TRUE AND (new.valid_until <= moment) IS NOT TRUE
     ORDER BY m.id DESC;
END
$function$;

COMMENT ON FUNCTION same_subject IS
    'The active memories of one subject that say something else than the new one and hold at the same time as it, the newest first; none for a memory that has ended by now.';

-- One writer at a time for each owner, so that of several about one subject the last one stays.
CREATE OR REPLACE FUNCTION supersede_subject(
    agent text, new agent_memories, duplicates text, near_duplicates float8,
    check_compliance boolean, actor text, metadata jsonb)
    RETURNS TABLE (memory_id uuid, outcome text, similarity float8, same_subject uuid[])
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    new.id := (require_incoming(
        agent, ARRAY[new], duplicates, near_duplicates, check_compliance, actor))[1];
    PERFORM wait_for_writers(agent, 'supersede_subject');
    IF NOT EXISTS (SELECT FROM agent_memories m WHERE m.agent_id = agent AND m.id = new.id) THEN
        PERFORM lock_same(agent, ARRAY[content_hash(new.content)],
                          ARRAY(SELECT same_subject(agent, new)));
        same_subject := ARRAY(SELECT same_subject(agent, new));
    END IF;
    IF cardinality(same_subject) > 0 THEN
        SELECT * INTO memory_id, outcome, similarity FROM take_place(
            agent, new, same_subject, duplicates, near_duplicates, false, check_compliance, NULL,
            actor, metadata);
        same_subject := array_remove(same_subject, memory_id);
    ELSE
        same_subject := '{}';
        SELECT s.memory_id, s.outcome, s.similarity INTO memory_id, outcome, similarity
          FROM store_memories(
              agent, ARRAY[new], duplicates, near_duplicates, check_compliance, actor, metadata) s;
    END IF;
    RETURN NEXT;
END
$function$;

COMMENT ON FUNCTION supersede_subject IS
    'Stores one memory in the place of all active ones of its subject, whose ids it returns. Raises PM005 where one of them claims the same time.';

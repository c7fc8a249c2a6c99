-- The query reads the index in this order, whatever statistics say: without a sort, no other index
-- gives it. Memories that are left out later count too, so that few rows are read.
CREATE OR REPLACE FUNCTION same_subject(
    agent text, new agent_memories, most integer DEFAULT 20) RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET enable_sort = off
    SET plan_cache_mode = force_generic_plan AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    hash bytea := content_hash(new.content);
BEGIN
    RETURN QUERY
    SELECT m.id
      FROM (SELECT n.id, n.content_hash, n.valid_from, n.valid_until, n.expires_at
              FROM agent_memories n
             WHERE n.agent_id = agent AND left(n.subject, 200) = left(new.subject, 200)
               AND n.subject = new.subject AND n.status = 'active' AND n.invalidated_at IS NULL
               AND (n.id = new.id) IS NOT TRUE
             ORDER BY coalesce(n.created_at, '-infinity') DESC, n.id DESC LIMIT most) m
     WHERE m.content_hash <> hash
       AND overlap(m.valid_from, m.valid_until, coalesce(new.valid_from, moment), new.valid_until)
       AND (m.expires_at <= moment) IS NOT TRUE AND (new.valid_until <= moment) IS NOT TRUE;
END
$function$;

COMMENT ON FUNCTION same_subject IS
    'Returns the newest active memories of a subject, newest first, that say something else than '
    'the new one and hold at the same time as it; none for a memory that has ended by now. It '
    'looks at most memories; NULL means all.';

-- One writer at a time may do this for each owner, so that the last of several about one subject
-- stays.
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
                          ARRAY(SELECT same_subject(agent, new, NULL)));
        same_subject := ARRAY(SELECT same_subject(agent, new, NULL));
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
    'Stores one memory in the place of all active memories of its subject, and returns their ids. '
    'Raises PM005 if one of them claims the same time.';

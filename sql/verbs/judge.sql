-- The last judgement of a memory and a query counts. One that says the same again is not recorded,
-- so that a key pressed twice leaves one event.
CREATE OR REPLACE FUNCTION judge(
    agent text, memory_id uuid, query text, answers boolean DEFAULT true, reason text DEFAULT NULL,
    actor text DEFAULT session_user, metadata jsonb DEFAULT '{}') RETURNS boolean
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    said jsonb := coalesce(to_jsonb(answers), 'null');
    before jsonb;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    PERFORM require(query IS NOT NULL, 'the query is empty'), require_query(query);
    PERFORM FROM agent_memories m
      WHERE m.agent_id = agent AND m.id = judge.memory_id FOR NO KEY UPDATE;
    PERFORM require_found(agent, memory_id, FOUND);
    SELECT e.metadata -> 'answers' INTO before FROM memory_events e
     WHERE e.agent_id = agent AND e.memory_id = judge.memory_id AND e.event_type = 'judgement'
       AND e.metadata ->> 'query' = judge.query
     ORDER BY e.occurred_at DESC, e.id DESC LIMIT 1;
    IF coalesce(before, 'null') = said THEN
        RETURN false;
    END IF;
    PERFORM log_events(agent, 'judgement', ARRAY[judge.memory_id], '{}', '{}', reason, actor,
        judge.metadata || jsonb_build_object('query', judge.query, 'answers', said));
    RETURN true;
END
$function$;

COMMENT ON FUNCTION judge IS
    'Records what a person says: that a memory answers a query, or not; NULL takes it back. It '
    'changes no counter and no score. Returns false if the last judgement said the same.';

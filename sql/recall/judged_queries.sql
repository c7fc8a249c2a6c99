-- Sequential scans are off: a plan made while there were few events would later read all owners'.
-- The condition on a time leads to the index without first events, of which each memory has one.
CREATE OR REPLACE FUNCTION last_judgements(agent text)
    RETURNS TABLE (query text, memory_id uuid, answers jsonb)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET enable_seqscan = off AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT DISTINCT ON (e.metadata ->> 'query', e.memory_id)
           e.metadata ->> 'query', e.memory_id, e.metadata -> 'answers'
      FROM memory_events e
     WHERE e.agent_id = agent AND e.event_type = 'judgement' AND e.occurred_at > '-infinity'
       AND jsonb_typeof(e.metadata -> 'query') = 'string' AND btrim(e.metadata ->> 'query') <> ''
     ORDER BY e.metadata ->> 'query', e.memory_id, e.occurred_at DESC, e.id DESC;
END
$function$;

COMMENT ON FUNCTION last_judgements IS
    'Returns what people last said of each query and memory: true or false, or null for what was '
    'taken back.';

-- Memories that no search returns any more are left out: whatever ranks first could not find them.
-- OFFSET 0: each is looked up by its key. A join may read all memories of the owner.
CREATE OR REPLACE FUNCTION judged_queries(agent text)
    RETURNS TABLE (query text, memory_ids uuid[], irrelevant uuid[])
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    PERFORM require_owner(agent);
    RETURN QUERY
    SELECT judged.query,
           coalesce(array_agg(m.id ORDER BY m.id) FILTER (WHERE judged.answers = 'true'), '{}'),
           coalesce(array_agg(m.id ORDER BY m.id) FILTER (WHERE judged.answers = 'false'), '{}')
      FROM last_judgements(agent) judged
     CROSS JOIN LATERAL (
           SELECT m.id FROM agent_memories m
            WHERE m.agent_id = agent AND m.id = judged.memory_id AND m.status = 'active'
              AND is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now())
           OFFSET 0) m
     WHERE judged.answers IN ('true', 'false')
     GROUP BY judged.query
     ORDER BY judged.query;
END
$function$;

COMMENT ON FUNCTION judged_queries IS
    'Each query that people judged memories by, the memories that answer it, and those that do '
    'not, by the last judgement of each.';

-- These are functions of their own, which call none that reads: so the settings reach nothing else.
-- Plain index scans are off, and agent_id is compared in a collation that the key lacks. Otherwise
-- the planner would use the key where it expects few rows of an owner, and compute the terms of
-- each row.
-- Behind a policy, PostgreSQL cannot use the index of words. Then the owner's memories are read
-- once, for all terms.
CREATE OR REPLACE FUNCTION memories_with(agent text, asked text[], moment timestamptz)
    RETURNS TABLE (place integer, memory_id uuid)
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
    SET search_path FROM CURRENT
    SET enable_seqscan = off
    SET enable_indexscan = off
    SET max_parallel_workers_per_gather = 0
    SET plan_cache_mode = force_generic_plan
AS $function$
#variable_conflict use_column
BEGIN
    IF row_security_active('agent_memories') THEN
        RETURN QUERY
        SELECT a.place::integer, m.id
          FROM agent_memories m
          JOIN unnest(asked) WITH ORDINALITY a(term, place) ON m.terms @@ term_query(ARRAY[a.term])
         WHERE m.agent_id = agent AND m.terms @@ term_query(asked)
           AND coalesce(m.created_at <= moment, true);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT a.place::integer, t.id
      FROM unnest(asked) WITH ORDINALITY a(term, place)
     CROSS JOIN LATERAL (
        SELECT m.id FROM agent_memories m
         WHERE term_keys(m.agent_id, m.terms) @> ARRAY[term_key(agent, a.term)]
           AND m.agent_id = agent COLLATE "C"
           AND coalesce(m.created_at <= moment, true)
        OFFSET 0) t;
END
$function$;

COMMENT ON FUNCTION memories_with IS
    'Returns the memories of an owner that have one of these terms, with the place of the term in '
    'the array; with a moment, those created by then.';

CREATE OR REPLACE FUNCTION count_with(agent text, term text, moment timestamptz) RETURNS bigint
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
    SET enable_seqscan = off
    SET enable_indexscan = off
    SET max_parallel_workers_per_gather = 0
    SET plan_cache_mode = force_generic_plan
AS $function$
BEGIN
    IF row_security_active('agent_memories') THEN
        RETURN (SELECT count(*) FROM agent_memories m
                 WHERE m.terms @@ term_query(ARRAY[term]) AND m.agent_id = agent
                   AND coalesce(m.created_at <= moment, true));
    END IF;
    RETURN (SELECT count(*) FROM agent_memories m
             WHERE term_keys(m.agent_id, m.terms) @> ARRAY[term_key(agent, term)]
               AND m.agent_id = agent COLLATE "C"
               AND coalesce(m.created_at <= moment, true));
END
$function$;

COMMENT ON FUNCTION count_with IS
    'Returns the number of memories of an owner that have a term; with a moment, of those created '
    'by then.';

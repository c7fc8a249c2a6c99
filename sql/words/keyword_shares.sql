-- Plain index scans are off, and agent_id is compared in a collation that the key lacks. Otherwise
-- the planner would use the key where it expects few rows of an owner, and compute the terms of
-- each row.
-- The query is parsed by EXECUTE, since a cached plan would keep the language too.
-- Behind a policy the index of words cannot be used. Then the owner's memories are read once, for
-- all terms.
-- A term that no owner has does not count. `others` are owners that the same search covers.
-- `moment` is an explicit as_of: memories created later are not counted.
-- ROWS is less than the planner ever expects of an owner's memories (200, where statistics do not
-- name the owner), so that a search hashes these rows and not the memories with their embeddings.
CREATE OR REPLACE FUNCTION keyword_shares(
    owners text[], query_text text, others text[] DEFAULT '{}', moment timestamptz DEFAULT NULL)
    RETURNS TABLE (agent_id text, memory_id uuid, share float8, coverage float8)
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
    SET search_path FROM CURRENT
    SET enable_seqscan = off
    SET enable_indexscan = off
    SET max_parallel_workers_per_gather = 0
    SET plan_cache_mode = force_generic_plan
AS $function$
#variable_conflict use_column
DECLARE
    guarded boolean := row_security_active('agent_memories');
    one text;
    total bigint;
    asked_for text[];
    any_of tsquery;
BEGIN
    EXECUTE 'SELECT ARRAY(SELECT term FROM query_terms($1))' INTO asked_for USING query_text;
    IF asked_for = '{}' THEN
        RETURN;
    END IF;
    any_of := term_query(asked_for);
    FOR one IN SELECT DISTINCT each FROM unnest(owners) each LOOP
        total := memories_of(one, moment);
        RETURN QUERY
        WITH asked AS MATERIALIZED (
            SELECT q.term, term_key(one, q.term) AS key, term_query(ARRAY[q.term]) AS query
              FROM unnest(asked_for) q(term)
        ), found AS MATERIALIZED (
            SELECT a.key, t.memory_id
              FROM asked a
             CROSS JOIN LATERAL (
                SELECT m.id AS memory_id FROM agent_memories m
                 WHERE term_keys(m.agent_id, m.terms) @> ARRAY[a.key]
                   AND m.agent_id = one COLLATE "C"
                   AND coalesce(m.created_at <= moment, true)
                OFFSET 0) t
             WHERE NOT guarded
            UNION ALL
            SELECT a.key, m.id
              FROM agent_memories m
              JOIN asked a ON m.terms @@ a.query
             WHERE guarded AND m.agent_id = one AND m.terms @@ any_of
               AND coalesce(m.created_at <= moment, true)
        ), weighed AS MATERIALIZED (
            SELECT a.key, term_weight(coalesce(c.memories, 0), total) AS idf,
                   CASE WHEN c.memories > 0 OR has_term(array_remove(owners || others, one), a.term, moment)
                        THEN term_weight(coalesce(c.memories, 0), total) ELSE 0 END AS weight
              FROM asked a
              LEFT JOIN (SELECT key, count(*) AS memories FROM found GROUP BY key) c
                ON c.key = a.key
        )
        SELECT one, f.memory_id,
               least(sum(w.weight) / (SELECT sum(weight) FROM weighed), 1),
               (SELECT sum(weight) / sum(idf) FROM weighed)
          FROM found f
          JOIN weighed w ON w.key = f.key
         GROUP BY f.memory_id;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION keyword_shares IS
    'The share of the query''s terms, by weight, that each memory has, for memories that have any. Terms that none of the owners or others has do not count; with a moment, memories created later do not count. coverage: the weight of the terms that count, as a share of all terms of the query.';

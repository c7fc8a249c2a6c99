-- A term that no owner has does not count. `others` are owners that the same search covers.
-- `moment` is an explicit as_of: memories created later do not count.
-- ROWS is less than the planner ever expects of an owner's memories (200, where statistics do not
-- name the owner), so that a search hashes these rows and not the memories with their embeddings.
CREATE OR REPLACE FUNCTION keyword_shares(
    owners text[], keywords text, others text[] DEFAULT '{}', moment timestamptz DEFAULT NULL)
    RETURNS TABLE (agent_id text, memory_id uuid, share float8, coverage float8)
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
    SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    one text;
    total bigint;
    asked_for text[];
BEGIN
    asked_for := ARRAY(SELECT q.term FROM query_terms(keywords) q);
    IF asked_for = '{}' THEN
        RETURN;
    END IF;
    FOR one IN SELECT DISTINCT each FROM unnest(owners) each LOOP
        total := memories_of(one, moment);
        RETURN QUERY
        WITH found AS MATERIALIZED (
            SELECT f.place, f.memory_id FROM memories_with(one, asked_for, moment) f
        ), weighed AS MATERIALIZED (
            SELECT a.place, term_weight(coalesce(c.memories, 0), total) AS idf,
                   CASE WHEN c.memories > 0
                             OR has_term(array_remove(owners || others, one), a.term, moment)
                        THEN term_weight(coalesce(c.memories, 0), total) ELSE 0 END AS weight
              FROM unnest(asked_for) WITH ORDINALITY a(term, place)
              LEFT JOIN (SELECT place, count(*) AS memories FROM found GROUP BY place) c
                ON c.place = a.place
        )
        SELECT one, f.memory_id,
               least(sum(w.weight) / (SELECT sum(weight) FROM weighed), 1),
               (SELECT sum(weight) / sum(idf) FROM weighed)
          FROM found f
          JOIN weighed w ON w.place = f.place
         GROUP BY f.memory_id;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION keyword_shares IS
    'Returns, for each memory that has terms of the query, their share of all terms by weight. '
    'Terms that none of the owners or others has do not count; with a moment, memories created '
    'later do not count. The column coverage is the weight of the terms that count, as a share of '
    'all terms of the query.';

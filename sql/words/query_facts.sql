-- A set-returning function, because PostgreSQL scans it once: a subquery might compute the vector
-- for each memory. It must be PARALLEL SAFE, or no search of a large agent is parallel.
CREATE OR REPLACE FUNCTION query_facts(
    agents text[], query agent_memories.embedding%TYPE, keywords text, named_in text,
    given text[], names integer, centering float8, subjects boolean, as_of timestamptz)
    RETURNS TABLE (agent_id text, query_vector agent_memories.embedding%TYPE, query_entities text[],
                   names_in_query integer, has_terms boolean)
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
    SET search_path FROM CURRENT
AS $function$
#variable_conflict use_variable
DECLARE
    vectors owner_vectors;
BEGIN
    has_terms := EXISTS (SELECT FROM query_terms(keywords));
    query_entities := given;
    names_in_query := names;
    IF names IS NULL AND given IS NOT NULL THEN
        query_entities := known_as(agents[1], given, agents[2:]);
        names_in_query := (SELECT count(DISTINCT g) FROM unnest(given) g);
    ELSIF names IS NULL AND named_in IS NOT NULL THEN
        SELECT n.entities, n.names INTO query_entities, names_in_query
          FROM named_entities(agents[1], named_in, subjects, agents[2:]) n;
    END IF;
    names_in_query := coalesce(names_in_query, 0);
    FOREACH agent_id IN ARRAY agents LOOP
        query_vector := query;
        IF centering > 0 AND query IS NOT NULL THEN
            SELECT v.* INTO vectors FROM owner_vectors v WHERE v.agent_id = query_facts.agent_id;
            query_vector := shifted(
                query, CASE WHEN coalesce(vectors.latest <= as_of, true) THEN vectors.mean END,
                centering);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION query_facts IS
    'Returns what a query is to each of these agents: its vector less a share (centering) of the '
    'mean of their embeddings, the entities that it names and the number of names, and whether '
    'keywords have any term. named_in: the text in which names are looked for. given: names that '
    'are looked up instead. names: their number, if given are entities that were looked up.';

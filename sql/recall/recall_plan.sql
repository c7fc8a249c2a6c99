-- What EXPLAIN of a call of recall does not show: the statement that it runs, and its plan.
CREATE OR REPLACE FUNCTION recall_plan(
    agent text,
    -- Written by make recall: arguments.
    query agent_memories.embedding%TYPE DEFAULT NULL,
    query_text text DEFAULT NULL,
    profile text DEFAULT 'five_factor',
    k integer DEFAULT 10,
    weights jsonb DEFAULT NULL,
    min_score float8 DEFAULT NULL,
    min_similarity float8 DEFAULT NULL,
    teams text[] DEFAULT NULL,
    query_entities text[] DEFAULT NULL,
    apply_decay boolean DEFAULT true,
    as_of timestamptz DEFAULT NULL,
    memory_types text[] DEFAULT NULL,
    tiers text[] DEFAULT NULL,
    tags text[] DEFAULT NULL,
    all_tags text[] DEFAULT NULL,
    entities text[] DEFAULT NULL,
    all_entities text[] DEFAULT NULL,
    labels text[] DEFAULT NULL,
    label_kinds text[] DEFAULT NULL,
    text text DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    created_after timestamptz DEFAULT NULL,
    created_before timestamptz DEFAULT NULL,
    components text[] DEFAULT NULL,
    output_types text[] DEFAULT NULL,
    domains text[] DEFAULT NULL,
    categories text[] DEFAULT NULL,
    loops text[] DEFAULT NULL,
    compliant boolean DEFAULT NULL,
    min_trust float8 DEFAULT NULL,
    statuses text[] DEFAULT '{active}',
    include_invalid boolean DEFAULT false,
    -- As written.
    strategy text DEFAULT 'auto',
    run boolean DEFAULT false
) RETURNS SETOF text
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    sources jsonb;
    statement text;
    line text;
BEGIN
    asked := question(
        -- Written by make recall: passed.
        agent, query, query_text, profile, k, weights, min_score, min_similarity, teams,
        query_entities, apply_decay, as_of, memory_types, tiers, tags, all_tags, entities,
        all_entities, labels, label_kinds, text, metadata, created_after, created_before,
        components, output_types, domains, categories, loops, compliant, min_trust, statuses,
        include_invalid
        -- As written.
    );
    query_text := asked.asked_words;
    query_entities := asked.asked_entities;
    recall_plan.text := asked.asked_text;
    sources := index_sources(strategy, asked.owners, asked.moment, asked.facts, asked.weighed,
        query, query_text IS NOT NULL, cardinality(query_entities) > 0, k, asked.given);
    statement := search_text(profile, asked.facts, asked.given, query_text IS NOT NULL,
                             CASE WHEN sources IS NOT NULL THEN true END);
    RETURN QUERY SELECT string_to_table(statement, E'\n');
    RETURN NEXT '';
    FOR line IN EXECUTE CASE WHEN run THEN 'EXPLAIN (VERBOSE, ANALYZE, BUFFERS) '
                             ELSE 'EXPLAIN (VERBOSE) ' END || statement
        USING k, asked.moment, asked.owners, asked.weighed, sources,
        -- Written by make recall: passed.
        agent, query, query_text, profile, k, weights, min_score, min_similarity, teams,
        query_entities, apply_decay, as_of, memory_types, tiers, tags, all_tags, entities,
        all_entities, labels, label_kinds, text, metadata, created_after, created_before,
        components, output_types, domains, categories, loops, compliant, min_trust, statuses,
        include_invalid
        -- As written.
    LOOP
        RETURN NEXT regexp_replace(line, '\[[-0-9.e,]{40,}\]', '[…]', 'g');  -- the query vector
    END LOOP;
END
$function$;

COMMENT ON FUNCTION recall_plan IS
    'The text that a call of recall with these arguments runs first, and its plan as EXPLAIN shows it; run runs it.';

-- The repository's search for psql: the same conditions and the same score, written by its builders,
-- and the same rank indexes.
CREATE OR REPLACE FUNCTION recall(
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
    touch boolean DEFAULT false,
    strategy text DEFAULT 'auto'
) RETURNS TABLE (
    agent_id text, id uuid, content text, memory_type text, created_at timestamptz,
    score float8, similarity float8, signals jsonb
)
    LANGUAGE plpgsql VOLATILE ROWS 10
    SET search_path FROM CURRENT
AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    sources jsonb;
    answered boolean;
    passed bigint;
    total bigint;
    hit_owners text[] := '{}';
    hit_ids uuid[] := '{}';
    owner text;
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
    recall.text := asked.asked_text;
    sources := index_sources(strategy, asked.owners, asked.moment, asked.facts, asked.weighed,
        query, query_text IS NOT NULL, cardinality(query_entities) > 0, k, asked.given);
    IF sources IS NULL AND touch IS NOT TRUE THEN
        RETURN QUERY EXECUTE search_text(profile, asked.facts, asked.given, query_text IS NOT NULL)
            USING k, asked.moment, asked.owners, asked.weighed, sources,
        -- Written by make recall: passed.
        agent, query, query_text, profile, k, weights, min_score, min_similarity, teams,
        query_entities, apply_decay, as_of, memory_types, tiers, tags, all_tags, entities,
        all_entities, labels, label_kinds, text, metadata, created_after, created_before,
        components, output_types, domains, categories, loops, compliant, min_trust, statuses,
        include_invalid
        -- As written.
            ;
        RETURN;
    END IF;
    LOOP
        answered := sources IS NULL;
        FOR agent_id, id, content, memory_type, created_at, score, similarity, signals, passed, total IN
            EXECUTE search_text(profile, asked.facts, asked.given, query_text IS NOT NULL, NOT answered)
            USING k, asked.moment, asked.owners, asked.weighed, sources,
        -- Written by make recall: passed.
        agent, query, query_text, profile, k, weights, min_score, min_similarity, teams,
        query_entities, apply_decay, as_of, memory_types, tiers, tags, all_tags, entities,
        all_entities, labels, label_kinds, text, metadata, created_after, created_before,
        components, output_types, domains, categories, loops, compliant, min_trust, statuses,
        include_invalid
        -- As written.
        LOOP
            answered := sources IS NULL OR are_enough(sources, passed, total);
            EXIT WHEN NOT answered;
            CONTINUE WHEN score < min_score;
            RETURN NEXT;
            hit_owners := hit_owners || agent_id;
            hit_ids := hit_ids || id;
        END LOOP;
        EXIT WHEN answered;
        sources := more_candidates(sources, passed, total);
    END LOOP;
    IF touch THEN
        FOR owner IN SELECT DISTINCT o FROM unnest(hit_owners) o ORDER BY o LOOP
            PERFORM touch(owner, ARRAY(SELECT h.id FROM unnest(hit_owners, hit_ids) h(o, id)
                                        WHERE h.o = owner));
        END LOOP;
    END IF;
END
$function$;

COMMENT ON FUNCTION recall IS
    'The k best memories for a query by a profile, best first, ties by id: its score, similarity and signals; touch counts their retrieval.';

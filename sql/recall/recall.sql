-- The repository's search for psql: the same statement, and the same rank indexes.
CREATE OR REPLACE FUNCTION recall(
    agent text,
    @arguments@,
    touch boolean DEFAULT false,
    strategy text DEFAULT 'auto'
) RETURNS TABLE (
    agent_id text, id uuid, content text, memory_type text, created_at timestamptz,
    score float8, similarity float8, signals jsonb, beside uuid, lent float8, lender uuid,
    importance float8, tier text, key text, last_accessed_at timestamptz
)
    LANGUAGE plpgsql VOLATILE ROWS 10 SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    ranked integer := greatest(k, CASE WHEN lend IS NOT NULL THEN 20 END);
    sources jsonb;
    answered boolean := false;
    passed bigint;
    total bigint;
    hit_owners text[] := '{}';
    hit_ids uuid[] := '{}';
    owner text;
BEGIN
    profile := coalesce(profile, default_profile());
    asked := question(@passed@);
    query_text := asked.asked_words;
    query_entities := asked.asked_entities;
    metadata := asked.contained;
    sources := index_sources(strategy, asked.owners, asked.moment, asked.facts, asked.weighed,
        query, cardinality(query_entities) > 0, ranked, asked.options);
    IF sources IS NULL AND touch IS NOT TRUE THEN
        -- Without a loop over its rows, so that it may run in parallel.
        RETURN QUERY EXECUTE recall_text(asked.facts, asked.options, NULL)
            USING ranked, asked.owners, asked.weighed,
                  ranked_apart('best', ranked, asked.options, asked.owners, @passed@), asked.compared,
                  @passed@;
        RETURN;
    END IF;
    WHILE NOT answered LOOP
        answered := sources IS NULL;
        FOR agent_id, id, content, memory_type, created_at, score, similarity, signals, beside, lent,
            lender, importance, tier, key, last_accessed_at, passed, total IN
            EXECUTE recall_text(asked.facts, asked.options, sources)
            USING ranked, asked.owners, asked.weighed, coalesce(sources,
                      ranked_apart('best', ranked, asked.options, asked.owners, @passed@)), asked.compared,
                  @passed@
        LOOP
            answered := sources IS NULL OR are_enough(sources, passed, total);
            EXIT WHEN NOT answered;
            CONTINUE WHEN beside IS NULL AND score < min_score;
            RETURN NEXT;
            hit_owners := hit_owners || agent_id;
            hit_ids := hit_ids || id;
        END LOOP;
        sources := more_candidates(sources, passed, total);
    END LOOP;
    IF touch THEN
        FOR owner IN SELECT DISTINCT o FROM unnest(hit_owners) o ORDER BY o LOOP
            PERFORM touch(owner, ARRAY(SELECT h.id FROM unnest(hit_owners, hit_ids) h(o, id)
                                        WHERE h.o = owner),
                          asked.facts ->> 'accessed_by' IS DISTINCT FROM 'use');
        END LOOP;
    END IF;
END
$function$;

COMMENT ON FUNCTION recall IS
    'The k best memories for a query by a profile, best first, ties by id, with score, similarity and signals. touch: count their retrieval, which moves last_accessed_at unless the profile has accessed_by use. beside: the hit that a turn came along with by expand_session. lent: how much the score was raised, by a share of the score of lender.';

CREATE OR REPLACE FUNCTION recall_text(facts jsonb, options text[], sources jsonb) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN format(
        'SELECT agent_id, id, content, memory_type, created_at, score, similarity, '
        'named_signals(%L::jsonb, signals), %s, %s, importance, tier, key, last_accessed_at%s FROM (%s) hits',
        jsonb_path_query_array(facts, '$.signals[*].name'),
        CASE WHEN 'expand_session' = ANY (options) AND NOT 'lend' = ANY (options) THEN 'beside' ELSE 'NULL::uuid' END,
        CASE WHEN 'lend' = ANY (options) THEN 'lent, lender' ELSE '0::float8, NULL::uuid' END,
        CASE WHEN sources IS NOT NULL THEN ', passed, total' END,
        statement_for('search', facts, options || '{brief}' || index_options(sources)));

COMMENT ON FUNCTION recall_text IS
    'The statement that recall runs: every memory scored, or the candidates of the rank indexes in sources.';

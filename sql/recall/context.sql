-- Packs the best memories for a prompt as the repository does. Formatting them is left to the
-- caller.
CREATE OR REPLACE FUNCTION context(
    agent text,
    @arguments, k DEFAULT 20@,
    max_tokens integer DEFAULT 4000,
    reserve jsonb DEFAULT '{}',
    max_skips integer DEFAULT 3,
    diversity float8 DEFAULT 0,
    max_similarity float8 DEFAULT NULL,
    fetch_k integer DEFAULT NULL,
    strategy text DEFAULT 'auto'
) RETURNS TABLE (
    step integer, verdict text, tokens integer, agent_id text, id uuid, content text,
    memory_type text, created_at timestamptz, score float8, near uuid, relevance float8
)
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    most integer;
    packing jsonb;
    sources jsonb;
    answered boolean;
    passed bigint;
    total bigint;
BEGIN
    profile := coalesce(profile, default_profile());
    min_relevance := coalesce(
        min_relevance, CASE WHEN query IS NOT NULL OR keywords IS NOT NULL
                            THEN (profile_info(profile) ->> 'min_relevance')::float8 END);
    asked := question(@passed@);
    -- A verdict on the memories considered, not a condition, so that a rank index finds the same.
    asked.options := array_remove(array_remove(asked.options, 'min_relevance'), 'min_score');
    keywords := asked.asked_words;
    query_entities := asked.asked_entities;
    metadata := asked.contained;
    PERFORM require_diversity(diversity);
    PERFORM require_share('max_similarity', coalesce(max_similarity, 0));
    IF max_tokens IS NULL OR max_tokens < 1
       OR max_skips IS NULL OR max_skips NOT BETWEEN 1 AND @MAX_CONSIDERED@
       OR k > @MAX_CONSIDERED@ OR fetch_k NOT BETWEEN k AND @MAX_CONSIDERED@ THEN
        RAISE EXCEPTION 'max_tokens must be at least 1, max_skips and k lie within 1 and '
            '@MAX_CONSIDERED@, and fetch_k within k and @MAX_CONSIDERED@; got %, %, % and %',
            max_tokens, max_skips, k, fetch_k
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF jsonb_typeof(reserve) IS DISTINCT FROM 'object'
       OR EXISTS (SELECT FROM jsonb_each(reserve) r WHERE jsonb_typeof(r.value) <> 'number'
                     OR r.value::numeric NOT BETWEEN 0 AND 1)
       OR (SELECT sum(r.value::float8) FROM jsonb_each(reserve) r) > 1 + 1e-9 THEN
        RAISE EXCEPTION 'reserve maps types of memory to shares within 0 and 1 that do not exceed '
            '1 together, got %', left(reserve::text, 60)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    most := k;
    k := coalesce(fetch_k, greatest(k, CASE WHEN reserve <> '{}' OR max_similarity IS NOT NULL
                                               THEN 80 ELSE least(k * max_skips, 80) END));
    packing := jsonb_build_object(
        'budget', greatest(max_tokens - 5, 0), 'most', most, 'floor', coalesce(min_score, 0),
        'max_skips', max_skips, 'diversity', diversity, 'max_similarity', max_similarity,
        'reserved_types', (ARRAY(SELECT jsonb_object_keys(reserve)))::text,
        'reserved_shares', (ARRAY(SELECT e.value::float8 FROM jsonb_each(reserve) e))::text)
        || @packing@;
    asked.options := asked.options || '{indents,brief}'
        || CASE WHEN diversity > 0 OR max_similarity IS NOT NULL THEN '{compares}'::text[] END;
    sources := index_sources(strategy, asked.owners, asked.moment, asked.facts, asked.weighed,
        query, 'named' = ANY (asked.options), k, asked.options);
    WHILE sources IS NOT NULL LOOP
        FOR step, verdict, tokens, agent_id, id, content, memory_type, created_at, score, near,
            relevance, passed, total IN
            EXECUTE context_text(asked.facts, asked.options, sources)
            USING k, asked.owners, asked.weighed, sources || packing, asked.compared,
                  @passed@
        LOOP
            answered := has_enough_hits(sources, passed, total);
            EXIT WHEN NOT answered;
            RETURN NEXT;
        END LOOP;
        IF answered THEN
            RETURN;
        END IF;
        sources := more_candidates(sources, passed, total);
    END LOOP;
    RETURN QUERY EXECUTE context_text(asked.facts, asked.options, NULL)
        USING k, asked.owners, asked.weighed,
              ranked_apart('best', k, asked.options, asked.owners, @passed@) || packing,
              asked.compared,
              @passed@;
END
$function$;

COMMENT ON FUNCTION context IS
    'The best memories for a prompt within max_tokens, in order, packed by score as the repository '
    'does for its plain style; then those left out, and why. near: the memory that a near '
    'duplicate resembles, or the hit that a turn came along with.';

CREATE OR REPLACE FUNCTION context_text(facts jsonb, options text[], sources jsonb) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN format(
        'WITH packed AS MATERIALIZED (SELECT * FROM (%s) hits) '
        'SELECT p.step, p.verdict, p.cost, p.agent_id, p.id, p.content, p.memory_type, '
        'p.created_at, p.score, n.id, %s%s FROM packed p LEFT JOIN packed n ON n.place = p.near '
        'ORDER BY p.verdict <> ''packed'', CASE WHEN p.verdict = ''packed'' THEN p.step END, '
        'p.place',
        statement_for('context', facts, options || index_options(sources)),
        CASE WHEN 'relevance' = ANY (options) THEN 'p.relevance' ELSE 'NULL::float8' END,
        CASE WHEN sources IS NOT NULL THEN ', p.passed, p.total' END);

COMMENT ON FUNCTION context_text IS
    'The statement that context runs; recall_text is that of recall.';

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
    consider integer DEFAULT NULL,
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
    min_relevance := coalesce(min_relevance, CASE WHEN query IS NOT NULL OR query_text IS NOT NULL
                                                  THEN (facts_of(profile) ->> 'min_relevance')::float8 END);
    asked := question(@passed@);
    -- A verdict on the memories considered, not a condition, so that a rank index finds the same.
    asked.given := array_replace(asked.given, 'min_relevance', 'relevance');
    query_text := asked.asked_words;
    query_entities := asked.asked_entities;
    metadata := asked.contained;
    PERFORM require_share('max_similarity', coalesce(max_similarity, 0));
    IF max_tokens IS NULL OR max_tokens < 1 OR max_skips IS NULL OR max_skips NOT BETWEEN 1 AND @MAX_CONSIDERED@
       OR k > @MAX_CONSIDERED@ OR consider NOT BETWEEN k AND @MAX_CONSIDERED@ THEN
        RAISE EXCEPTION 'max_tokens must be at least 1, max_skips and k lie within 1 and @MAX_CONSIDERED@, and '
            'consider within k and @MAX_CONSIDERED@; got %, %, % and %', max_tokens, max_skips, k, consider
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF diversity IS NULL OR NOT (diversity >= 0 AND diversity < 1) THEN
        RAISE EXCEPTION 'diversity must lie within 0 and 1 and be less than 1, got %', diversity
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF jsonb_typeof(reserve) IS DISTINCT FROM 'object'
       OR EXISTS (SELECT FROM jsonb_each(reserve) r WHERE jsonb_typeof(r.value) <> 'number'
                     OR r.value::numeric NOT BETWEEN 0 AND 1)
       OR (SELECT sum(r.value::float8) FROM jsonb_each(reserve) r) > 1 + 1e-9 THEN
        RAISE EXCEPTION 'reserve maps types of memory to shares within 0 and 1 that do not exceed 1 '
            'together, got %', left(reserve::text, 60)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    most := coalesce(consider, greatest(k, CASE WHEN reserve <> '{}' OR max_similarity IS NOT NULL
                                                THEN 80 ELSE least(k * max_skips, 80) END));
    packing := jsonb_build_object(
        'max_tokens', max_tokens, 'max_skips', max_skips, 'reserve', reserve, 'diversity', diversity,
        'min_score', coalesce(min_score, 0),
        'compares', diversity > 0 OR max_similarity IS NOT NULL, 'max_similarity', max_similarity);
    min_score := NULL;  -- a verdict too
    sources := index_sources(strategy, asked.owners, asked.moment, asked.facts, asked.weighed,
        query, query_text IS NOT NULL, cardinality(query_entities) > 0, most, asked.given);
    WHILE sources IS NOT NULL LOOP
        FOR step, verdict, tokens, agent_id, id, content, memory_type, created_at, score, near,
            relevance, passed, total IN
            EXECUTE context_text(profile, asked.facts, asked.given, query_text IS NOT NULL, true)
            USING most, asked.moment, asked.owners, asked.weighed, sources || packing, asked.compared, asked.comparable,
                  @passed@
        LOOP
            answered := are_enough(sources, passed, total);
            EXIT WHEN NOT answered;
            RETURN NEXT;
        END LOOP;
        IF answered THEN
            RETURN;
        END IF;
        sources := more_candidates(sources, passed, total);
    END LOOP;
    RETURN QUERY EXECUTE context_text(profile, asked.facts, asked.given, query_text IS NOT NULL, NULL)
        USING most, asked.moment, asked.owners, asked.weighed, packing, asked.compared, asked.comparable,
              @passed@;
END
$function$;

COMMENT ON FUNCTION context IS
    'The best memories for a prompt within max_tokens, in order, packed by score as the repository does for its plain style; then those left out, and why. near: the memory that a near duplicate resembles, or the hit that a turn came along with.';

CREATE OR REPLACE FUNCTION context_text(
    profile text, facts jsonb, given text[], has_words boolean, through_indexes boolean) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN recall_text(profile, facts, given, has_words, through_indexes,
                       $text$WITH q AS NOT MATERIALIZED (
    SELECT {q}
), {ranked}, pool AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY {beside} IS NOT NULL,
                                       {beside} IS NULL AND r.relevance < q.min_relevance,
                                       r.score DESC, r.id)::integer AS place, r.*, {beside} AS comes_with,
           CASE WHEN {beside} IS NULL AND (r.relevance < q.min_relevance) IS NOT TRUE
                THEN r.score END AS given
      FROM q CROSS JOIN (
        SELECT r.*, m.content, m.memory_type, m.created_at, m.embedding,
               reckoned_tokens(m.tokens, m.content, m.memory_type) AS cost, {relevance} AS relevance
          FROM q CROSS JOIN {found} r
         CROSS JOIN LATERAL (
              SELECT a.* FROM agent_memories a
               WHERE a.agent_id {owned} AND a.agent_id = r.agent_id AND a.id = r.id
              OFFSET 0) m) r
)
SELECT v.step, v.verdict, r.cost, r.agent_id, r.id, r.content, r.memory_type, r.created_at, r.score,
       n.id, r.relevance{counts}
  FROM q CROSS JOIN LATERAL pack(
           ARRAY(SELECT given FROM pool WHERE comes_with IS NULL ORDER BY place),
           ARRAY(SELECT cost FROM pool ORDER BY place),
           ARRAY(SELECT memory_type FROM pool ORDER BY place),
           greatest((q.sources -> 'max_tokens')::integer - 5, 0), q.k,
           (q.sources -> 'min_score')::float8, (q.sources -> 'max_skips')::integer,
           ARRAY(SELECT jsonb_object_keys(q.sources -> 'reserve')),
           ARRAY(SELECT e.value::float8 FROM jsonb_each(q.sources -> 'reserve') e),
           CASE WHEN (q.sources -> 'compares')::boolean THEN ARRAY(
               SELECT similarity(a.embedding, b.embedding, 0) FROM pool a, pool b
                WHERE a.given IS NOT NULL AND b.given IS NOT NULL
                ORDER BY a.place, b.place) END,
           (q.sources -> 'diversity')::float8, (q.sources ->> 'max_similarity')::float8,
           ARRAY(SELECT hit FROM ({along}) a ORDER BY hit, distance, turn),
           ARRAY(SELECT turn FROM ({along}) a ORDER BY hit, distance, turn)) v
  JOIN pool r ON r.place = v.place
  LEFT JOIN pool n ON n.place = v.near
 ORDER BY v.verdict <> 'packed', CASE WHEN v.verdict = 'packed' THEN v.step END, r.place$text$);

COMMENT ON FUNCTION context_text IS
    'The statement that context runs; search_text is that of recall.';

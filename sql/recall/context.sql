-- The best memories for a prompt, packed as the repository packs them; how they are written down is
-- the caller's. Every memory is scored: a prompt asks for many.
CREATE OR REPLACE FUNCTION context(
    agent text,
    -- Written by make recall: arguments of context.
    query agent_memories.embedding%TYPE DEFAULT NULL,
    query_text text DEFAULT NULL,
    profile text DEFAULT 'five_factor',
    k integer DEFAULT 20,
    weights jsonb DEFAULT NULL,
    min_score float8 DEFAULT 0.1,
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
    max_tokens integer DEFAULT 4000,
    reserve jsonb DEFAULT '{}',
    max_skips integer DEFAULT 3,
    diversity float8 DEFAULT 0,
    max_similarity float8 DEFAULT NULL,
    consider integer DEFAULT NULL
) RETURNS TABLE (
    step integer, verdict text, tokens integer, agent_id text, id uuid, content text,
    memory_type text, created_at timestamptz, score float8, near uuid
)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    most integer;
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
    context.text := asked.asked_text;
    PERFORM require_share('max_similarity', coalesce(max_similarity, 0));
    IF max_tokens IS NULL OR max_tokens < 1 OR max_skips IS NULL OR max_skips NOT BETWEEN 1 AND 500
       OR k > 500 OR consider NOT BETWEEN k AND 500 THEN
        RAISE EXCEPTION 'max_tokens must be at least 1, max_skips and k lie within 1 and 500, and '
            'consider within k and 500; got %, %, % and %', max_tokens, max_skips, k, consider
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
    RETURN QUERY EXECUTE recall_text(profile, asked.facts, asked.given, query_text IS NOT NULL, $text$
WITH q AS NOT MATERIALIZED (
    SELECT {q}
), ranked AS (
    SELECT m.agent_id, m.id, {score} AS score
      FROM q CROSS JOIN agent_memories m
      {usage}
      {words}
     WHERE m.agent_id {owned}
       AND {passes}
     ORDER BY score DESC, m.id
     LIMIT $1
), pool AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY r.score DESC, r.id)::integer AS place, r.score, m.agent_id, m.id,
           m.content, m.memory_type, m.created_at, m.embedding,
           reckoned_tokens(m.tokens, m.content, m.memory_type) AS cost
      FROM q CROSS JOIN ranked r
      JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id AND m.agent_id {owned}
)
SELECT v.step, v.verdict, p.cost, p.agent_id, p.id, p.content, p.memory_type, p.created_at, p.score, n.id
  FROM q CROSS JOIN LATERAL pack(
           ARRAY(SELECT score FROM pool ORDER BY place), ARRAY(SELECT cost FROM pool ORDER BY place),
           ARRAY(SELECT memory_type FROM pool ORDER BY place),
           greatest((q.sources -> 'max_tokens')::integer - 5, 0), (q.sources -> 'k')::integer,
           coalesce(q.min_score, 0), (q.sources -> 'max_skips')::integer,
           ARRAY(SELECT jsonb_object_keys(q.sources -> 'reserve')),
           ARRAY(SELECT e.value::float8 FROM jsonb_each(q.sources -> 'reserve') e),
           CASE WHEN (q.sources -> 'compares')::boolean THEN ARRAY(
               SELECT similarity(a.embedding, b.embedding, 0) FROM pool a, pool b
                ORDER BY a.place, b.place) END,
           (q.sources -> 'diversity')::float8, (q.sources ->> 'max_similarity')::float8) v
  JOIN pool p ON p.place = v.place
  LEFT JOIN pool n ON n.place = v.near
 ORDER BY v.verdict <> 'packed', CASE WHEN v.verdict = 'packed' THEN v.step END, p.place$text$)
        USING most, asked.moment, asked.owners, asked.weighed, jsonb_build_object(
            'max_tokens', max_tokens, 'k', k, 'max_skips', max_skips, 'reserve', reserve,
            'compares', diversity > 0 OR max_similarity IS NOT NULL, 'diversity', diversity,
            'max_similarity', max_similarity),
        -- Written by make recall: passed.
        agent, query, query_text, profile, k, weights, min_score, min_similarity, teams,
        query_entities, apply_decay, as_of, memory_types, tiers, tags, all_tags, entities,
        all_entities, labels, label_kinds, text, metadata, created_after, created_before,
        components, output_types, domains, categories, loops, compliant, min_trust, statuses,
        include_invalid
        -- As written.
        ;
END
$function$;

COMMENT ON FUNCTION context IS
    'The best memories for a prompt within max_tokens, packed by score as the repository does for its plain style, in their order; then what was left out, and why.';

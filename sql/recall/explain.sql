-- One statement: what the memory scores even where it is excluded, which conditions it meets, and
-- how many of the memories that pass come before it.
CREATE OR REPLACE FUNCTION explain(
    agent text,
    memory_id uuid,
    @arguments@
) RETURNS TABLE (
    agent_id text, rank bigint, ranked bigint, returned boolean, score float8, needed_score float8,
    signals jsonb, reasons text[], terms jsonb, relevance float8, beside uuid, lent float8, lender uuid
)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    own record;
    unmet text[];
    comes_along boolean;
    floor float8 := min_relevance;
BEGIN
    IF query IS NOT NULL OR query_text IS NOT NULL THEN
        min_relevance := coalesce(floor, 0);
    END IF;
    profile := coalesce(profile, default_profile());
    asked := question(@passed@);
    asked.given := array_append(asked.given, CASE WHEN min_relevance IS NOT NULL THEN 'relevance' END);
    query_text := asked.asked_words;
    query_entities := asked.asked_entities;
    metadata := asked.contained;
    EXECUTE recall_text(profile, asked.facts, asked.given, query_text IS NOT NULL, false, $text$
WITH q AS NOT MATERIALIZED (
    SELECT {q}
), every AS MATERIALIZED (
    SELECT m.agent_id, m.id, {score} AS score, {share} AS keyword, {coverage} AS coverage
      FROM q CROSS JOIN {memories}
){hits}, own AS (
    SELECT m.agent_id, m.id, {score} AS score, {share} AS keyword, {coverage} AS coverage,
           jsonb_build_object({meets}) AS meets
      FROM q CROSS JOIN LATERAL (
          SELECT a.* FROM agent_memories a
           WHERE a.agent_id {owned} AND a.id = (q.sources ->> 0)::uuid
          OFFSET 0) m
      {counters}
      {words}
     ORDER BY m.agent_id <> q.agent
     LIMIT 1
), last AS (
    SELECT e.agent_id, e.id, e.score, e.keyword, e.coverage, NULL::jsonb AS meets FROM {raised} e
     ORDER BY e.score DESC, e.id
    OFFSET $1 - 1 LIMIT 1
), described AS (
    SELECT r.*, {signals} AS signals, {relevance} AS relevance, octet_length(m.content) AS bytes
      FROM q CROSS JOIN (SELECT * FROM own UNION ALL SELECT * FROM last) r
     CROSS JOIN LATERAL (
          SELECT a.* FROM agent_memories a
           WHERE a.agent_id {owned} AND a.agent_id = r.agent_id AND a.id = r.id
          OFFSET 0) m
      {counters}
)
SELECT o.agent_id, f.score, o.score AS own_score, n.hit, o.signals, o.meets, o.relevance, o.keyword,
       o.bytes, l.score AS last_score, l.signals AS last_signals,
       (SELECT count(*) FROM every) AS ranked,
       (SELECT count(*) FROM {raised} e
         WHERE e.score > f.score OR e.score = f.score AND e.id < o.id) AS before
  FROM q CROSS JOIN described o
  LEFT JOIN described l ON l.meets IS NULL
  LEFT JOIN {nearest} n ON n.agent_id = o.agent_id AND n.id = o.id
 CROSS JOIN LATERAL raised_score(o.score, coalesce(q.lend, 0), n.hit_score) f(score)
 WHERE o.meets IS NOT NULL$text$)
        INTO own
        USING k, asked.moment, asked.owners, asked.weighed, jsonb_build_array(memory_id),
              asked.compared, asked.comparable,
              @passed@;
    PERFORM require_found(agent, memory_id, own.agent_id IS NOT NULL);
    agent_id := own.agent_id;
    rank := own.before + 1;
    ranked := own.ranked;
    score := own.score;
    needed_score := CASE WHEN own.last_score IS NOT NULL THEN greatest(own.last_score, min_score) END;
    signals := (
        SELECT jsonb_agg(jsonb_build_object('signal', s.name, 'value', s.value, 'weight', s.weight,
                   'contribution', s.weight * s.value,
                   'share', CASE WHEN own.score > 0 THEN s.weight * s.value / own.score ELSE 0 END,
                   'behind', s.weight * ((own.last_signals ->> s.name)::float8 - s.value))
                   || CASE WHEN s.name = 'keyword' AND query_text IS NOT NULL THEN jsonb_build_object(
                          'of_terms', own.keyword, 'length_factor', keyword(1, own.bytes, s.b, s.pivot))
                      ELSE '{}' END
                   ORDER BY s.place)
          FROM (SELECT e.place, e.said ->> 'name' AS name, asked.weighed[e.place] AS weight,
                       (own.signals ->> (e.said ->> 'name'))::float8 AS value,
                       (e.said ->> 'b')::float8 AS b, (e.said ->> 'pivot')::float8 AS pivot
                  FROM jsonb_array_elements(asked.facts -> 'signals') WITH ORDINALITY e(said, place)) s);
    lent := own.score - own.own_score;
    unmet := ARRAY(SELECT e.key FROM jsonb_each(own.meets) e WHERE e.value = 'false' ORDER BY e.key);
    IF lend IS NOT NULL THEN
        lender := own.hit;
    ELSIF own.before >= k OR own.score < min_score OR 'min_relevance' = ANY (unmet) THEN
        beside := own.hit;
    END IF;
    -- A turn that comes along needs neither min_score nor min_relevance.
    comes_along := beside IS NOT NULL AND array_remove(unmet, 'min_relevance') = '{}';
    IF comes_along THEN
        unmet := '{}';
    END IF;
    relevance := own.relevance;
    reasons := ARRAY(SELECT CASE WHEN name = 'min_relevance'
                                 THEN format('its relevance %s is below min_relevance %s',
                                             round(relevance::numeric, 6), floor)
                                 WHEN name = 'compared' THEN (
                                     SELECT 'filtered by metadata ' || (asked.compared
                                            -> unmet_comparison(m.metadata, asked.compared) - 1 ->> 'operator')
                                       FROM agent_memories m
                                      WHERE m.agent_id = own.agent_id AND m.id = memory_id)
                                 ELSE unmet_condition(own.agent_id, memory_id, name, asked.moment) END
                       FROM unnest(unmet) name)
        || CASE WHEN own.score < min_score AND NOT comes_along
                THEN ARRAY[format('its score %s is below min_score %s', round(own.score::numeric, 6), min_score)]
                ELSE '{}' END
        || CASE WHEN unmet = '{}' AND rank > k AND NOT comes_along
                THEN ARRAY[format('outranked: %s memories come before it and %s are returned; the last of '
                                  'them scores %s, this one %s', own.before, k,
                                  round(own.last_score::numeric, 6), round(own.score::numeric, 6))]
                ELSE '{}' END;
    returned := reasons = '{}';
    terms := (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'term', t.term, 'matched', t.term = ANY (tsvector_to_array(m.terms)),
                   'weight', t.weight, 'share', coalesce(t.weight / t.total, 0), 'memories', t.memories,
                   'left_out', t.weight = 0)
                   ORDER BY t.weight DESC, t.term), '[]')
          FROM agent_memories m, LATERAL (
                SELECT w.*, nullif(sum(w.weight) OVER (), 0) AS total
                  FROM term_weights(m.agent_id, query_text, true, asked.owners, as_of) w) t
         WHERE m.agent_id = own.agent_id AND m.id = memory_id AND query_text IS NOT NULL
           AND asked.facts ->> 'reads' LIKE '%words.share%');
    RETURN NEXT;
END
$function$;

COMMENT ON FUNCTION explain IS
    'Why recall with the same arguments returns a memory, or why not: its rank among the memories that pass, its score, each signal''s part of it and how far that is behind the last memory returned, the reasons that exclude it, the terms of the query by weight (left_out: no memory has it), and its relevance. beside: the hit that it comes along with by expand_session. lent: how much its score is raised, by a share of the score of lender.';

CREATE OR REPLACE FUNCTION unmet_condition(agent text, memory_id uuid, name text, moment timestamptz)
    RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN (SELECT CASE name
        WHEN 'valid' THEN concat_ws('; ',
            CASE WHEN m.valid_from > moment THEN 'valid only from ' || m.valid_from END,
            CASE WHEN m.valid_until <= moment THEN 'valid only until ' || m.valid_until END,
            CASE WHEN m.invalidated_at <= moment
                 THEN coalesce(m.invalidation_reason, 'invalidated') || ' at ' || m.invalidated_at END,
            CASE WHEN m.expires_at <= moment THEN 'expired at ' || m.expires_at END)
        WHEN 'statuses' THEN 'status is ' || m.status
        WHEN 'as_of' THEN 'created after as_of, at ' || m.created_at
        WHEN 'embedding' THEN 'has no embedding, which this profile requires'
        WHEN 'label_kinds' THEN 'filtered by labels'
        ELSE 'filtered by ' || name END
      FROM agent_memories m WHERE m.agent_id = agent AND m.id = memory_id);
END
$function$;

COMMENT ON FUNCTION unmet_condition IS 'Why a condition excludes a memory, in words.';

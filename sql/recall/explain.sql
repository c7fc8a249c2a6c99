-- Asked in one statement: what the memory scores whatever keeps it out, which conditions it meets, and
-- how many of those that pass come before it.
CREATE OR REPLACE FUNCTION explain(
    agent text,
    memory_id uuid,
    @arguments@
) RETURNS TABLE (
    agent_id text, rank bigint, ranked bigint, returned boolean, score float8, needed_score float8,
    signals jsonb, reasons text[], terms jsonb
)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    own record;
    unmet text[];
BEGIN
    asked := question(@passed@);
    query_text := asked.asked_words;
    query_entities := asked.asked_entities;
    metadata := asked.contained;
    EXECUTE recall_text(profile, asked.facts, asked.given, query_text IS NOT NULL, false, $text$
WITH q AS NOT MATERIALIZED (
    SELECT {q}
), every AS MATERIALIZED (
    SELECT m.agent_id, m.id, {score} AS score, {share} AS keyword
      FROM q CROSS JOIN agent_memories m
      {usage}
      {words}
     WHERE m.agent_id {owned}
       AND {passes}
), own AS (
    SELECT m.agent_id, m.id, {score} AS score, {share} AS keyword, jsonb_build_object({meets}) AS meets
      FROM q CROSS JOIN agent_memories m
      {usage}
      {words}
     WHERE m.agent_id {owned} AND m.id = (q.sources ->> 0)::uuid
     ORDER BY m.agent_id <> q.agent
     LIMIT 1
), last AS (
    SELECT e.agent_id, e.id, e.score, e.keyword, NULL::jsonb AS meets FROM every e
     ORDER BY e.score DESC, e.id
    OFFSET $1 - 1 LIMIT 1
), described AS (
    SELECT r.*, {signals} AS signals
      FROM q CROSS JOIN (SELECT * FROM own UNION ALL SELECT * FROM last) r
      JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id AND m.agent_id {owned}
      {usage}
)
SELECT o.agent_id, o.score, o.signals, o.meets, l.score AS last_score, l.signals AS last_signals,
       (SELECT count(*) FROM every) AS ranked,
       (SELECT count(*) FROM every e
         WHERE e.score > o.score OR e.score = o.score AND e.id < o.id) AS before
  FROM described o LEFT JOIN described l ON l.meets IS NULL
 WHERE o.meets IS NOT NULL$text$)
        INTO own
        USING k, asked.moment, asked.owners, asked.weighed, jsonb_build_array(memory_id),
              asked.compared,
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
                   ORDER BY s.place)
          FROM (SELECT e.place, e.said ->> 'name' AS name, asked.weighed[e.place] AS weight,
                       (own.signals ->> (e.said ->> 'name'))::float8 AS value
                  FROM jsonb_array_elements(asked.facts -> 'signals') WITH ORDINALITY e(said, place)) s);
    unmet := ARRAY(SELECT e.key FROM jsonb_each(own.meets) e WHERE e.value = 'false' ORDER BY e.key);
    reasons := ARRAY(SELECT unmet_condition(own.agent_id, memory_id, name, asked.moment)
                       FROM unnest(unmet) name)
        || CASE WHEN own.score < min_score
                THEN ARRAY[format('its score %s is below min_score %s', round(own.score::numeric, 6), min_score)]
                ELSE '{}' END
        || CASE WHEN unmet = '{}' AND rank > k
                THEN ARRAY[format('outranked: %s memories come before it and %s are returned; the last of '
                                  'them scores %s, this one %s', own.before, k,
                                  round(own.last_score::numeric, 6), round(own.score::numeric, 6))]
                ELSE '{}' END;
    returned := reasons = '{}';
    terms := (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'term', t.term, 'matched', t.term = ANY (tsvector_to_array(m.terms)),
                   'weight', t.weight, 'share', t.weight / t.total, 'memories', t.memories)
                   ORDER BY t.weight DESC, t.term), '[]')
          FROM agent_memories m, LATERAL (
               SELECT w.*, sum(w.weight) OVER () AS total
                 FROM term_weights(m.agent_id, query_text) w) t
         WHERE m.agent_id = own.agent_id AND m.id = memory_id AND query_text IS NOT NULL);
    RETURN NEXT;
END
$function$;

COMMENT ON FUNCTION explain IS
    'Why recall with the same arguments returns a memory, or why not: its rank among those that pass, its score, each signal''s part of it, how far that is behind the last one returned, what keeps it out, and the terms of the query by weight.';

CREATE OR REPLACE FUNCTION unmet_condition(agent text, memory_id uuid, name text, moment timestamptz)
    RETURNS text
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE name
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
        ELSE 'filtered by ' || regexp_replace(name, '^(\$\w+) \d+$', 'metadata \1') END
      FROM agent_memories m WHERE m.agent_id = agent AND m.id = memory_id;
END;

COMMENT ON FUNCTION unmet_condition IS 'What keeps a memory out of an answer, in words.';

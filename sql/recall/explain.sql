-- The repository's explain for psql, by the same statements: what the memory scores even where it
-- is excluded, which conditions it meets, and how many of the memories that pass come before it.
CREATE OR REPLACE FUNCTION explain(
    agent text,
    memory_id uuid,
    @arguments@
) RETURNS TABLE (
    agent_id text, rank bigint, ranked bigint, returned boolean, score float8, needed_score float8,
    signals jsonb, reasons text[], terms jsonb, relevance float8, attached_to uuid
)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    own record;
    last record;
    standing record;
    described text;
    unmet text[];
    comes_along boolean;
    floor float8 := min_relevance;
    searched text := agent;
BEGIN
    IF query IS NOT NULL OR keywords IS NOT NULL THEN
        min_relevance := coalesce(floor, 0);
    END IF;
    profile := coalesce(profile, default_profile());
    asked := question(@passed@);
    keywords := asked.asked_words;
    query_entities := asked.asked_entities;
    metadata := asked.contained;
    described := format(
        'SELECT agent_id, score, content, signals, meets, %s, %s, %s FROM (%s) hits',
        CASE WHEN asked.options @> '{redistribute,keyword,words}' THEN 'has_terms'
             ELSE 'true AS has_terms' END,
        CASE WHEN min_relevance IS NULL THEN 'NULL::float8 AS relevance' ELSE 'relevance' END,
        CASE WHEN asked.compared IS NULL THEN 'NULL::integer AS unmet_comparison'
             ELSE 'unmet_comparison' END,
        statement_for('explain', asked.facts, alone(asked.options)));
    FOREACH agent IN ARRAY asked.owners LOOP
        EXECUTE described INTO own
          USING k, asked.owners, asked.weighed, jsonb_build_object('id', memory_id),
                asked.compared, @passed@;
        EXIT WHEN own.agent_id IS NOT NULL;
    END LOOP;
    agent := searched;
    PERFORM require_found(agent, memory_id, own.agent_id IS NOT NULL);
    IF NOT own.has_terms THEN
        asked.weighed := redistributed(asked.facts, asked.weighed, '{keyword}');
    END IF;
    EXECUTE statement_for('standing', asked.facts, asked.options) INTO standing
      USING k, asked.owners, asked.weighed,
            ranked_apart('scores', k, asked.options, asked.owners, @passed@)
            || jsonb_build_object('whose', own.agent_id, 'id', memory_id, 'own_score', own.score),
            asked.compared,
            @passed@;
    agent := standing.last_owner;
    EXECUTE described INTO last
      USING k, asked.owners, asked.weighed, jsonb_build_object('id', standing.last_id),
            asked.compared, @passed@;
    agent := searched;
    agent_id := own.agent_id;
    rank := standing.before + 1;
    ranked := standing.ranked;
    score := own.score;
    needed_score := CASE WHEN standing.last_score IS NOT NULL
                         THEN greatest(standing.last_score, min_score) END;
    signals := (
        SELECT jsonb_agg(jsonb_build_object('signal', s.name, 'value', s.value, 'weight', s.weight,
                   'contribution', s.contribution,
                   'share', CASE WHEN score > 0 THEN s.contribution / score ELSE 0 END,
                   'behind', (contributions(asked.weighed, last.signals))[s.place] - s.contribution)
                   || CASE WHEN s.name = 'keyword' AND 'words' = ANY (asked.options)
                           THEN jsonb_build_object('of_terms', s.value / s.length_factor,
                                                   'length_factor', s.length_factor)
                           ELSE '{}' END
                   ORDER BY s.place)
          FROM (SELECT e.place, e.said ->> 'name' AS name, asked.weighed[e.place] AS weight,
                       own.signals[e.place] AS value,
                       (contributions(asked.weighed, own.signals))[e.place] AS contribution,
                       keyword(1, octet_length(own.content), (e.said ->> 'b')::float8,
                               (e.said ->> 'pivot')::float8) AS length_factor
                  FROM jsonb_array_elements(asked.facts -> 'signals')
                       WITH ORDINALITY e(said, place)) s);
    IF asked.facts ? 'decay' THEN
        signals := signals || jsonb_build_object(
            'signal', 'decay', 'value', own.signals[cardinality(asked.weighed) + 1]);
    END IF;
    unmet := ARRAY(SELECT e.key FROM jsonb_each(own.meets) e
                    WHERE e.value = 'false' ORDER BY e.key);
    IF standing.before >= k OR own.score < min_score OR 'min_relevance' = ANY (unmet) THEN
        attached_to := standing.attached_to;
    END IF;
    -- A turn that comes along needs neither min_score nor min_relevance.
    comes_along := attached_to IS NOT NULL AND array_remove(unmet, 'min_relevance') = '{}';
    IF comes_along THEN
        unmet := '{}';
    END IF;
    relevance := own.relevance;
    reasons := ARRAY(SELECT CASE WHEN name = 'min_relevance'
                                 THEN format('its relevance %s is below min_relevance %s',
                                             round(relevance::numeric, 6), floor)
                                 WHEN name = 'compared'
                                 THEN 'filtered by metadata '
                                      || (asked.compared -> own.unmet_comparison - 1 ->> 'operator')
                                 ELSE unmet_condition(
                                     own.agent_id, memory_id, name, asked.moment) END
                       FROM unnest(unmet) name)
        || CASE WHEN score < min_score AND NOT comes_along
                THEN ARRAY[format('its score %s is below min_score %s',
                                  round(score::numeric, 6), min_score)]
                ELSE '{}' END
        || CASE WHEN unmet = '{}' AND rank > k AND NOT comes_along
                THEN ARRAY[format('outranked: it is number %s, and k is %s; '
                                  'the last memory returned scores %s, this one %s', rank, k,
                                  round(standing.last_score::numeric, 6), round(score::numeric, 6))]
                ELSE '{}' END;
    returned := reasons = '{}';
    terms := (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'term', t.term, 'matched', t.term = ANY (tsvector_to_array(m.terms)),
                   'weight', t.weight, 'share', coalesce(t.weight / t.total, 0),
                   'memories', t.memories, 'left_out', t.weight = 0)
                   ORDER BY t.weight DESC, t.term), '[]')
          FROM agent_memories m, LATERAL (
                SELECT w.*, nullif(sum(w.weight) OVER (), 0) AS total
                  FROM term_weights(m.agent_id, keywords, true, asked.owners, as_of) w) t
         WHERE m.agent_id = own.agent_id AND m.id = memory_id AND keywords IS NOT NULL
           AND 'keyword' = ANY (asked.options));
    RETURN NEXT;
END
$function$;

COMMENT ON FUNCTION explain IS
    'Why recall with the same arguments returns a memory, or why not: its rank among the memories '
    'that pass, its score, each signal''s part of it and how far that is behind the last memory '
    'returned, the reasons that exclude it, the terms of the query by weight (left_out: no memory '
    'has it), and its relevance. attached_to: the hit that it comes along with, by '
    'surrounding_turns.';

CREATE OR REPLACE FUNCTION contributions(weights float8[], signals float8[]) RETURNS float8[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT array_agg(coalesce(
                       decayed(w.weight * signals[w.place], signals[cardinality(weights) + 1]),
                       w.weight * signals[w.place]) ORDER BY w.place)
              FROM unnest(weights) WITH ORDINALITY w(weight, place));

COMMENT ON FUNCTION contributions IS
    'What each signal adds to a score, after the decay, which is the value behind the signals.';

CREATE OR REPLACE FUNCTION unmet_condition(
    agent text, memory_id uuid, name text, moment timestamptz) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN (SELECT CASE name
        WHEN 'valid' THEN concat_ws('; ',
            CASE WHEN m.valid_from > moment THEN 'valid only from ' || m.valid_from END,
            CASE WHEN m.valid_until <= moment THEN 'valid only until ' || m.valid_until END,
            CASE WHEN m.invalidated_at <= moment
                 THEN coalesce(m.invalidation_reason, 'invalidated') || ' at '
                      || m.invalidated_at END,
            CASE WHEN m.expires_at <= moment THEN 'expired at ' || m.expires_at END)
        WHEN 'statuses' THEN 'status is ' || m.status
        WHEN 'as_of' THEN 'created after as_of, at ' || m.created_at
        WHEN 'embedding' THEN 'has no embedding, which this profile requires'
        ELSE 'filtered by ' || name END
      FROM agent_memories m WHERE m.agent_id = agent AND m.id = memory_id);
END
$function$;

COMMENT ON FUNCTION unmet_condition IS
    'Why a condition excludes a memory, in words.';

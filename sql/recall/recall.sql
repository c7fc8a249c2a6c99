-- The repository's search for psql: the same statement, and the same rank indexes.
CREATE OR REPLACE FUNCTION recall(
    agent text,
    @arguments@,
    touch boolean DEFAULT false,
    strategy text DEFAULT 'auto',
    linked integer DEFAULT 0,
    diversity float8 DEFAULT 0
) RETURNS TABLE (
    agent_id text, id uuid, content text, memory_type text, created_at timestamptz,
    score float8, similarity float8, signals jsonb, attached_to uuid,
    importance float8, tier text, key text, last_accessed_at timestamptz, hops integer,
    relevance float8, is_relevant boolean
)
    LANGUAGE plpgsql VOLATILE ROWS 10 SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    ranked integer := most_ranked(k, diversity);
    chooses jsonb := jsonb_build_object('diversity', diversity);
    sources jsonb;
    answered boolean := false;
    passed bigint;
    total bigint;
    hit_owners text[] := '{}';
    hit_ids uuid[] := '{}';
BEGIN
    PERFORM require_count('linked', linked, 0, 2);
    profile := coalesce(profile, default_profile());
    IF linked > 0 THEN
        RETURN QUERY SELECT * FROM expanded(linked, strategy, touch, @passed@, diversity);
        RETURN;
    END IF;
    asked := question(@passed@);
    asked.options := diverse_options(asked.options, diversity, k, surrounding_turns);
    keywords := asked.asked_words;
    query_entities := asked.asked_entities;
    metadata := asked.contained;
    sources := index_sources(strategy, asked.owners, asked.moment, asked.facts, asked.weighed,
        query, 'named' = ANY (asked.options), ranked, asked.options);
    IF sources IS NULL AND touch IS NOT TRUE THEN
        -- Without a loop over its rows, so that it may run in parallel.
        RETURN QUERY EXECUTE recall_text(asked.facts, asked.options, NULL)
            USING ranked, asked.owners, asked.weighed,
                  ranked_apart('best', ranked, asked.options, asked.owners, @passed@) || chooses,
                  asked.compared, @passed@;
        RETURN;
    END IF;
    WHILE NOT answered LOOP
        answered := sources IS NULL;
        FOR agent_id, id, content, memory_type, created_at, score, similarity, signals, attached_to,
            importance, tier, key, last_accessed_at, hops, relevance, is_relevant, passed,
            total IN
            EXECUTE recall_text(asked.facts, asked.options, sources)
            USING ranked, asked.owners, asked.weighed, coalesce(sources,
                      ranked_apart('best', ranked, asked.options, asked.owners, @passed@))
                      || chooses,
                  asked.compared, @passed@
        LOOP
            answered := sources IS NULL OR has_enough_hits(sources, passed, total);
            EXIT WHEN NOT answered;
            CONTINUE WHEN attached_to IS NULL AND score < min_score;
            RETURN NEXT;
            hit_owners := hit_owners || agent_id;
            hit_ids := hit_ids || id;
        END LOOP;
        sources := more_candidates(sources, passed, total);
    END LOOP;
    IF touch THEN
        PERFORM touch_hits(asked.facts, hit_owners, hit_ids);
    END IF;
END
$function$;

COMMENT ON FUNCTION recall IS
    'The k best memories for a query by a profile, best first, ties by id, with score, similarity '
    'and signals. touch: count their retrieval, which moves last_accessed_at unless the profile '
    'has accessed_by use. attached_to: the hit that a turn came along with by surrounding_turns. '
    'linked: add memories at most so many links away from the hits. is_relevant: false where '
    'nothing on this subject was found: the best relevance is below the floor of the profile, and '
    'the rows are the nearest. diversity: choose the k by maximal marginal relevance, in the order '
    'of choice.';

CREATE OR REPLACE FUNCTION diverse_options(
    options text[], diversity float8, k integer, surrounding_turns integer) RETURNS text[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF diversity = 0 THEN
        RETURN options;
    END IF;
    PERFORM require_diversity(diversity);
    PERFORM require(surrounding_turns = 0,
                    'diversity does not go with surrounding_turns: leave one out');
    PERFORM require(@COMPARED_PER_HIT@ * k::bigint <= @MAX_CONSIDERED@,
                    format('with diversity, k may be at most %s, got %s',
                           @MAX_CONSIDERED@ / @COMPARED_PER_HIT@, k));
    PERFORM require(NOT 'divided' = ANY (options),
                    'diversity does not go with teams on Citus, where each owner is ranked on its '
                    'node: leave one out');
    RETURN options || 'diversity'::text;
END
$function$;

COMMENT ON FUNCTION diverse_options IS
    'Returns the options of a statement with the one that the diversity of recall needs, and '
    'refuses what does not go with it.';

CREATE OR REPLACE FUNCTION recall_text(
    facts jsonb, options text[], sources jsonb, name text DEFAULT 'search') RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN format(
        'SELECT agent_id, id, content, memory_type, created_at, score, similarity, '
        'named_signals(%L::jsonb, signals), %s, importance, tier, key, last_accessed_at, %s, '
        '%s%s FROM (%s) hits',
        jsonb_path_query_array(facts, '$.signals[*].name')
            || CASE WHEN facts ? 'decay' THEN '["decay"]' ELSE '[]' END::jsonb,
        CASE WHEN 'surrounding_turns' = ANY (options) THEN 'attached_to' ELSE 'NULL::uuid' END,
        CASE name WHEN 'linked' THEN 'hops' ELSE '0' END,
        CASE WHEN NOT 'relevance' = ANY (options) THEN 'NULL::float8, NULL::boolean'
             WHEN facts ? 'min_relevance'
             THEN format('relevance, max(relevance) OVER () >= %s', facts ->> 'min_relevance')
             ELSE 'relevance, NULL::boolean' END,
        CASE WHEN sources IS NOT NULL THEN ', passed, total' END,
        statement_for(name, facts, options || '{brief}' || index_options(sources)));
END
$function$;

COMMENT ON FUNCTION recall_text IS
    'The statement that recall runs: every memory scored, or the candidates of the rank indexes in '
    'sources.';

-- The hits of recall, and the memories linked to them: placed among the hits by their score, or
-- behind them where turns came along, which no link leads from.
CREATE OR REPLACE FUNCTION expanded(
    linked integer, strategy text, touch boolean, agent text, @arguments@,
    diversity float8 DEFAULT 0)
    RETURNS TABLE (
    agent_id text, id uuid, content text, memory_type text, created_at timestamptz,
    score float8, similarity float8, signals jsonb, attached_to uuid,
    importance float8, tier text, key text, last_accessed_at timestamptz, hops integer,
    relevance float8, is_relevant boolean
)
    LANGUAGE plpgsql VOLATILE ROWS 20 SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    hit_owners text[] := '{}';
    hit_ids uuid[] := '{}';
BEGIN
    FOR agent_id, id, content, memory_type, created_at, score, similarity, signals, attached_to,
        importance, tier, key, last_accessed_at, hops, relevance, is_relevant IN
        WITH hits AS MATERIALIZED (
            SELECT r.*, row_number() OVER () AS place FROM recall(
                   @passed@, false, strategy, diversity => diversity) r
        ), linked AS (
            SELECT l.*, NULL::bigint AS place
              FROM linked_memories(
                       ARRAY(SELECT h.agent_id FROM hits h
                              WHERE h.attached_to IS NULL ORDER BY h.place),
                       ARRAY(SELECT h.id FROM hits h
                              WHERE h.attached_to IS NULL ORDER BY h.place),
                       k + (SELECT count(h.attached_to) FROM hits h)::integer, linked, @passed@) l
             WHERE NOT EXISTS (SELECT FROM hits h WHERE h.agent_id = l.agent_id AND h.id = l.id)
             ORDER BY l.score DESC, l.id
             LIMIT k
        )
        SELECT u.agent_id, u.id, u.content, u.memory_type, u.created_at, u.score, u.similarity,
               u.signals, u.attached_to, u.importance, u.tier, u.key, u.last_accessed_at,
               u.hops, u.relevance, u.is_relevant
          FROM (SELECT h.* FROM hits h UNION ALL SELECT l.* FROM linked l) u
         ORDER BY CASE WHEN surrounding_turns > 0 OR diversity > 0 THEN u.place END,
                  u.score DESC, u.id
    LOOP
        RETURN NEXT;
        hit_owners := hit_owners || agent_id;
        hit_ids := hit_ids || id;
    END LOOP;
    IF touch THEN
        PERFORM touch_hits(profile_info(profile), hit_owners, hit_ids);
    END IF;
END
$function$;

COMMENT ON FUNCTION expanded IS
    'What recall returns with linked: its hits, and the memories within so many links of them.';

CREATE OR REPLACE FUNCTION linked_memories(
    hit_owners text[], hit_ids uuid[], most integer, hops integer, agent text, @arguments@)
    RETURNS TABLE (
    agent_id text, id uuid, content text, memory_type text, created_at timestamptz,
    score float8, similarity float8, signals jsonb, attached_to uuid,
    importance float8, tier text, key text, last_accessed_at timestamptz, away integer,
    relevance float8, is_relevant boolean
)
    LANGUAGE plpgsql STABLE ROWS 20 SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record := question(@passed@);
BEGIN
    keywords := asked.asked_words;
    query_entities := asked.asked_entities;
    metadata := asked.contained;
    FOREACH agent IN ARRAY asked.owners LOOP
        RETURN QUERY EXECUTE recall_text(asked.facts, alone(asked.options) || CASE
                WHEN min_score IS NOT NULL THEN '{min_score}' ELSE '{}' END::text[], NULL, 'linked')
            USING most, asked.owners, asked.weighed, jsonb_build_object(
                      'hops', hops,
                      'hit_owners', (ARRAY(SELECT h.o FROM unnest(hit_owners) h(o)
                                            WHERE h.o = agent))::text,
                      'hit_ids', (ARRAY(SELECT h.i FROM unnest(hit_owners, hit_ids) h(o, i)
                                         WHERE h.o = agent))::text),
                  asked.compared, @passed@;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION linked_memories IS
    'The best memories within so many links of these hits, without the hits: most of each owner.';

CREATE OR REPLACE FUNCTION touch_hits(facts jsonb, hit_owners text[], hit_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
DECLARE
    owner text;
BEGIN
    FOR owner IN SELECT DISTINCT o FROM unnest(hit_owners) o ORDER BY o LOOP
        PERFORM touch(owner, ARRAY(SELECT h.id FROM unnest(hit_owners, hit_ids) h(o, id)
                                    WHERE h.o = owner),
                      facts ->> 'accessed_by' IS DISTINCT FROM 'use');
    END LOOP;
END
$function$;

COMMENT ON FUNCTION touch_hits IS
    'Counts a retrieval of each of these memories, for a profile with these facts.';

-- Planned at each call: only with known arguments does PostgreSQL leave out the other profiles.
-- First the k best, by columns that are few, then the rest of these: whole rows are expensive to
-- sort. Workers take longer to start than a few thousand memories to be read.
CREATE OR REPLACE FUNCTION recall(
    agent_id text, query agent_memories.embedding%TYPE DEFAULT NULL, keywords text DEFAULT NULL,
    profile text DEFAULT NULL, weights jsonb DEFAULT NULL, half_life float8 DEFAULT NULL,
    entities text[] DEFAULT NULL, period tstzrange DEFAULT NULL, teams text[] DEFAULT NULL,
    as_of timestamptz DEFAULT NULL,
    k integer DEFAULT 10, max_tokens integer DEFAULT NULL, touch boolean DEFAULT false)
    RETURNS SETOF _ranked
    LANGUAGE plpgsql VOLATILE ROWS 10
    SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan
    SET parallel_setup_cost = 20000 AS $function$
#variable_conflict use_variable
DECLARE
    hit _ranked;
    spent bigint := 0;
    hit_agents text[] := '{}';
    hit_ids uuid[] := '{}';
    one text;
BEGIN
    k := coalesce(k, 10);
    PERFORM require_count('k', k, 1, 1000000);
    PERFORM require_search(agent_id, query, keywords, profile, weights, half_life, entities,
                           period, teams, as_of);
    IF max_tokens IS NOT NULL THEN
        PERFORM require_count('max_tokens', max_tokens, 1, 2147483647);
    END IF;
    FOR hit IN
        SELECT @record but embedding, last_accessed_at: m.{}@,
               CASE WHEN as_of IS NULL OR m.last_accessed_at <= as_of
                    THEN m.last_accessed_at END,
               b.score, @signal_names@
          FROM (SELECT r.agent_id, r.id, r.score, @signal_names@
                  FROM ranked(agent_id, query, keywords, profile, weights, half_life, entities,
                              period, teams, as_of) r
                 ORDER BY r.score DESC, r.id LIMIT k) b
          JOIN memory_records m ON m.agent_id = b.agent_id AND m.id = b.id
         ORDER BY b.score DESC, b.id
    LOOP
        IF max_tokens IS NOT NULL THEN
            spent := spent + coalesce(hit.tokens, regexp_count(hit.content, @PIECES@));
            EXIT WHEN spent > max_tokens;
        END IF;
        hit_agents := hit_agents || hit.agent_id;
        hit_ids := hit_ids || hit.id;
        RETURN NEXT hit;
    END LOOP;
    IF touch THEN
        FOR one IN SELECT DISTINCT h FROM unnest(hit_agents) h ORDER BY h LOOP
            PERFORM touch(one, ARRAY(SELECT h.id FROM unnest(hit_agents, hit_ids) h(agent_id, id)
                                      WHERE h.agent_id = one),
                          profile_facts(coalesce(profile, default_profile()))
                          ->> 'accessed_by' IS DISTINCT FROM 'use');
        END LOOP;
    END IF;
END
$function$;

COMMENT ON FUNCTION recall IS
    'Returns the k best of ranked, ties by id; with max_tokens, as many of these as have together '
    'at most so many tokens, estimated where a memory has none. touch: count their retrieval, '
    'which moves last_accessed_at unless the profile has accessed_by use.';

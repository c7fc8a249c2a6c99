-- The rules are those of rank_index/strategy.py: when a rank index is worth using, and with how
-- many candidates. It is faster to score all memories of small owners, for many
-- hits, and with signals that positions do not cover.
CREATE OR REPLACE FUNCTION index_sources(
    strategy text, owners text[], moment timestamptz, facts jsonb, weighed float8[],
    query agent_memories.embedding%TYPE, has_entities boolean, ranked integer, options text[])
    RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    leans float8;
    beyond float8;
    rough boolean;
    of_words float8;
    one_sided float8;
    follows_use boolean;
    built_in text;
    number integer;
    indexes jsonb;
    measured integer;
    alone integer;
    fewest bigint;
    candidates integer;
    filtered boolean;
    has_words boolean := options @> '{keyword,words}';
    per_candidate float8 := CASE WHEN has_words THEN @PER_CANDIDATE@ ELSE 1.5 END;
    keyword jsonb;
BEGIN
    IF strategy IS NULL OR strategy NOT IN ('auto', 'exact', 'index') THEN
        RAISE EXCEPTION 'strategy must be one of auto, exact, index, got %',
            quote_nullable(left(strategy, 60))
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF strategy = 'exact' OR ranked > @MAX_K@
       OR options && '{statuses,period}' OR facts ? 'decay'
       OR NOT 'valid' = ANY (options)
       OR NOT EXISTS (SELECT 1 FROM rank_indexes r WHERE r.agent_id = ANY (owners))
       OR cardinality(owners) > 1 AND is_distributed() THEN  -- one statement, on one node
        RETURN NULL;
    END IF;
    SELECT coalesce(sum(s.weight) FILTER (WHERE s.name = 'similarity'), 0),
           coalesce(sum(s.weight) FILTER (
               WHERE s.uncovered AND (has_entities OR s.name <> 'entity_overlap')
                  OR s.name = 'frequency' AND s.weight > @MAX_FREQUENCY@), 0),
           coalesce(bool_or(s.roughly AND s.weight > 0), false),
           greatest(max(s.weight / nullif(s.rest, 0)) FILTER (WHERE s.name <> 'keyword')
                    - @MOSTLY_ONE@, 0) / (1 - @MOSTLY_ONE@),
           coalesce(sum(s.weight) FILTER (WHERE s.reads_usage), 0) > @MIN_USE@,
           sum(s.weight) FILTER (WHERE s.name = 'keyword')
      INTO leans, beyond, rough, one_sided, follows_use, of_words
      FROM (SELECT t.*, weighed[place] AS weight,
                   sum(weighed[place]) FILTER (WHERE t.name <> 'keyword') OVER () AS rest
              FROM jsonb_array_elements(facts -> 'signals') WITH ORDINALITY e(said, place),
                   jsonb_to_record(said) AS t(
                       name text, uncovered boolean, roughly boolean, reads_usage boolean)) s;
    IF strategy = 'auto' AND (query IS NULL OR leans = 0 OR beyond > @MAX_UNCOVERED@) THEN
        RETURN NULL;
    END IF;
    built_in := CASE WHEN weighed = weights_of(facts, NULL, NULL) THEN facts ->> 'built_in' END;
    SELECT jsonb_build_object(
               'indexed_owners', array_agg(i.agent_id)::text,
               'relations', array_agg(i.relation)::text,
               'written_until', array_agg(i.written_until)::text,
               'directions', array_agg(rank_direction(facts, weighed, i.query, i.elapsed))::text,
               'used_directions', array_agg(CASE WHEN follows_use THEN
                    rank_direction(facts, weighed, i.query, i.elapsed, true) END)::text,
               'whole_owners', (ARRAY(SELECT unnest(owners) EXCEPT
                                      SELECT unnest(array_agg(i.agent_id))))::text),
           max(coalesce((i.candidates_by_profile -> built_in)::integer, i.candidates)),
           max(i.candidates_alone),
           min(i.memories), count(*)
      INTO indexes, measured, alone, fewest, number
      FROM (SELECT r.*, date_part('epoch', moment - r.as_of) / 86400 AS elapsed,
                   shifted(index_sources.query,
                           CASE WHEN coalesce(v.latest <= moment, true) THEN v.mean END,
                           coalesce((facts ->> 'mean_share')::float8, 0)) AS query
              FROM rank_indexes r
              LEFT JOIN owner_vectors v ON v.agent_id = r.agent_id AND v.agent_id = ANY (owners)
             WHERE r.agent_id = ANY (owners) AND r.space = (facts -> 'space')::integer
               AND r.as_of <= moment AND (strategy = 'index' OR r.memories >= r.at_least)) i;
    IF number = 0 THEN
        RETURN NULL;
    END IF;
    filtered := NOT has_words AND NOT options <@ '{
        planned,valid,teams,divided,as_of,query,embedding,words,usage,keyword,redistribute,
        relevance,shifted,named,given_names,min_relevance,min_similarity,
        min_score,surrounding_turns,diversity}';
    candidates := greatest(
        measured, least(@PER_HIT@ * @MEASURED_HITS@, measured) * ranked / @MEASURED_HITS@);
    IF one_sided > 0 THEN
        candidates := CASE WHEN has_words THEN candidates ELSE 2 * candidates END;
        candidates := candidates + floor(one_sided * greatest(alone - candidates, 0));
    END IF;
    IF has_words THEN
        candidates := greatest(
            floor(candidates * (1 - of_words) ^ 2), @PER_HIT@ * ranked, @FEWEST@);
    END IF;
    candidates := least(candidates * CASE WHEN rough THEN 2 ELSE 1 END
                        * CASE WHEN filtered THEN @FILTERED@ ELSE 1 END, @MAX_CANDIDATES@);
    keyword := jsonb_path_query_first(facts, '$.signals[*] ? (@.name == "keyword")');
    RETURN indexes || jsonb_build_object(
        'k', ranked, 'filtered', filtered, 'per_candidate', per_candidate,
        'keyword_b', keyword -> 'b', 'keyword_pivot', keyword -> 'pivot',
        'enough', least(candidates, fewest)
                  / CASE WHEN filtered THEN @FILTERED_ENOUGH@ ELSE @ENOUGH@ END,
        'candidates', candidates,
        'reach', least(floor(per_candidate * candidates), @MAX_CANDIDATES@));
END
$function$;

COMMENT ON FUNCTION index_sources IS
    'Returns the rank indexes of these owners that a search uses, and the number of candidates to '
    'take; NULL if the search must score every memory.';

CREATE OR REPLACE FUNCTION has_enough_hits(sources jsonb, passed bigint, total bigint)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN total >= (sources -> 'k')::integer
       AND (passed >= (sources -> 'enough')::integer
            OR (sources -> 'filtered')::boolean
               AND (sources -> 'candidates')::integer = @MAX_CANDIDATES@
               AND passed >= @AT_LAST@ * (sources -> 'k')::integer);

COMMENT ON FUNCTION has_enough_hits IS
    'Returns true if enough rows passed the filters for the best of them to be the best of all: '
    'total is the number of all rows that passed, passed the number for each rank index.';

CREATE OR REPLACE FUNCTION more_candidates(sources jsonb, passed bigint, total bigint) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    candidates integer := (sources -> 'candidates')::integer;
    more bigint := 2 * candidates * (sources -> 'enough')::bigint / greatest(passed, 1);
BEGIN
    IF total IS NULL OR total < (sources -> 'k')::integer OR candidates = @MAX_CANDIDATES@
       OR more > 2 * @MAX_CANDIDATES@ THEN
        RETURN NULL;
    END IF;
    candidates := least(more, @MAX_CANDIDATES@);
    RETURN sources || jsonb_build_object('candidates', candidates,
        'reach', least(floor((sources -> 'per_candidate')::float8 * candidates),
                       @MAX_CANDIDATES@));
END
$function$;

COMMENT ON FUNCTION more_candidates IS
    'Returns the same rank indexes with more candidates, estimated from the number that has passed '
    'so far; NULL if the search must score every memory.';

CREATE OR REPLACE FUNCTION index_options(sources jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN sources IS NULL THEN '{}'
                WHEN sources ->> 'whole_owners' = '{}' THEN '{index}'
                ELSE '{index,whole}' END::text[];

COMMENT ON FUNCTION index_options IS
    'Returns the options of a statement that searches the rank indexes in sources. NULL searches '
    'none.';

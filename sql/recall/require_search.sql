CREATE OR REPLACE FUNCTION agents_of(agent_id text, teams text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN agent_id || ARRAY(
        SELECT CASE WHEN starts_with(t, 'team:') THEN t ELSE 'team:' || t END FROM unnest(teams) t
        EXCEPT SELECT agent_id);

COMMENT ON FUNCTION agents_of IS
    'Returns the ids of an agent and of these teams, which may be given without the prefix team:.';

-- It reads no column, so that a search calls it once, before its first row. What is not given is
-- not looked at: an IF costs less than a statement.
CREATE OR REPLACE FUNCTION require_search(
    agent_id text, query agent_memories.embedding%TYPE, keywords text,
    profile text, weights jsonb, half_life float8,
    entities text[], period tstzrange, teams text[],
    as_of timestamptz)
    RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    facts jsonb := profile_facts(coalesce(profile, default_profile()));
    one text;
BEGIN
    FOREACH one IN ARRAY array_remove(agents_of(agent_id, teams), NULL) LOOP
        PERFORM require_owner(one);
    END LOOP;
    PERFORM require_vector(query);
    IF teams IS NOT NULL THEN
        PERFORM require_few('teams', teams);
    END IF;
    IF entities IS NOT NULL THEN
        PERFORM require_few('entities', entities);
        PERFORM require(cardinality(entities) <= @MAX_QUERY_ENTITIES@, format(
            'entities may hold at most @MAX_QUERY_ENTITIES@, got %s', cardinality(entities)));
    END IF;
    IF length(keywords) > @MAX_QUERY_LENGTH@ THEN
        PERFORM require(false, format('keywords may have at most @MAX_QUERY_LENGTH,@ characters, '
                                      'got %s: shorten it', length(keywords)));
    END IF;
    IF weights IS NOT NULL THEN
        PERFORM weights_of(facts, facts ->> 'name', weights);
    END IF;
    IF period IS NOT NULL OR as_of IS NOT NULL THEN
        PERFORM require(period IS NULL OR lower(period) < upper(period), format(
            'period must be a range with a beginning and a later end, got %s', period));
        PERFORM require(given.at BETWEEN @EARLIEST@ AND @LATEST@, format(
                    '%s must lie within @EARLIEST,@ and @LATEST,@, got %s', given.name, given.at))
           FROM (VALUES ('as_of', as_of), ('period', lower(period)), ('period', upper(period)))
                given(name, at)
          WHERE given.at IS NOT NULL;
    END IF;
    IF half_life IS NOT NULL THEN
        PERFORM require(half_life BETWEEN @SHORTEST_HALF_LIFE@ AND @LONGEST_HALF_LIFE@, format(
            'half_life must lie within @SHORTEST_HALF_LIFE,@ and @LONGEST_HALF_LIFE,@ days, got %s',
            half_life));
        PERFORM require((facts -> 'has_half_life')::boolean, format(
            'profile %L has no recency signal and no decay, so no half-life can be set',
            facts ->> 'name'));
    END IF;
    IF current_setting('gin_fuzzy_search_limit') <> '0' THEN
        RAISE EXCEPTION 'gin_fuzzy_search_limit is %, with which searches miss memories at random: '
            'set it to 0', current_setting('gin_fuzzy_search_limit')
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RETURN agent_id IS NOT NULL;
END
$function$;

COMMENT ON FUNCTION require_search IS
    'Checks the arguments of ranked, recall and explain. Returns false for no agent, who has no '
    'memories.';

CREATE OR REPLACE FUNCTION embedding_dimensions() RETURNS integer
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN (SELECT a.atttypmod FROM pg_attribute a
             WHERE a.attrelid = 'agent_memories'::regclass AND a.attname = 'embedding');
END
$function$;

COMMENT ON FUNCTION embedding_dimensions IS
    'Returns how many dimensions the embeddings of memories have.';

-- Bound to the functions of pgvector, wherever it is moved; inlined.
CREATE OR REPLACE FUNCTION dimensions_of(query agent_memories.embedding%TYPE) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN @extschema:vector@.vector_dims(query);

CREATE OR REPLACE FUNCTION has_direction(query agent_memories.embedding%TYPE) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN query OPERATOR(@extschema:vector@.<=>) query < 1;

CREATE OR REPLACE FUNCTION require_vector(query agent_memories.embedding%TYPE) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF query IS NULL THEN
        RETURN;
    ELSIF dimensions_of(query) <> embedding_dimensions() THEN
        RAISE EXCEPTION 'the query vector has % dimensions, the database stores %',
            dimensions_of(query), embedding_dimensions() USING ERRCODE = 'PM006';
    ELSIF NOT has_direction(query) THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'PM006';
    END IF;
END
$function$;

COMMENT ON FUNCTION dimensions_of IS
    'Returns how many dimensions a vector has.';
COMMENT ON FUNCTION has_direction IS
    'Returns true for a vector that has a cosine with others: it is neither zero nor too long.';
COMMENT ON FUNCTION require_vector IS
    'Raises PM006 for a query vector that cannot be compared.';

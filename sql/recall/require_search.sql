CREATE OR REPLACE FUNCTION agents_of(agent_id text, teams text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN agent_id || ARRAY(
        SELECT CASE WHEN starts_with(t, 'team:') THEN t ELSE 'team:' || t END FROM unnest(teams) t
        EXCEPT SELECT agent_id);

COMMENT ON FUNCTION agents_of IS
    'Returns the ids of an agent and of these teams, which may be given without the prefix team:.';

-- It reads no column, so that a search calls it once, before its first row.
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
    PERFORM require_few('teams', teams), require_few('entities', entities),
            require_vector(query), weights_of(facts, profile, weights);
    PERFORM require(cardinality(entities) <= @MAX_QUERY_ENTITIES@,
                    format('entities may hold at most @MAX_QUERY_ENTITIES@, got %s',
                           cardinality(entities)))
      WHERE entities IS NOT NULL;
    PERFORM require(length(keywords) <= @MAX_QUERY_LENGTH@,
                    format('keywords may have at most @MAX_QUERY_LENGTH,@ characters, got %s: '
                           'shorten it', length(keywords)))
      WHERE keywords IS NOT NULL;
    PERFORM require(lower(period) < upper(period), format(
                    'period must be a range with a beginning and a later end, got %s', period))
      WHERE period IS NOT NULL;
    PERFORM require(t BETWEEN @EARLIEST@ AND @LATEST@, format(
                    '%s must lie within @EARLIEST,@ and @LATEST,@, got %s', name, t))
       FROM (VALUES ('as_of', as_of), ('period', lower(period)), ('period', upper(period)))
            given(name, t)
      WHERE t IS NOT NULL;
    IF half_life IS NOT NULL THEN
        PERFORM require(half_life BETWEEN @SHORTEST_HALF_LIFE@ AND @LONGEST_HALF_LIFE@, format(
                        'half_life must lie within @SHORTEST_HALF_LIFE,@ and '
                        '@LONGEST_HALF_LIFE,@ days, got %s', half_life));
        PERFORM require((facts -> 'has_half_life')::boolean, format(
                        'profile %L has no recency signal and no decay, so no half-life can be '
                        'set', facts ->> 'name'));
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

CREATE OR REPLACE FUNCTION require_vector(query agent_memories.embedding%TYPE) RETURNS void
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT require(
        query IS NULL OR @extschema:vector@.vector_dims(query) = embedding_dimensions(),
        format('the query vector has %s dimensions, the database stores %s',
               @extschema:vector@.vector_dims(query), embedding_dimensions()), 'PM006');
    SELECT require(
        query IS NULL OR query OPERATOR(@extschema:vector@.<=>) query < 1,
        'the query vector has no direction: it is zero, or too short or too long', 'PM006');
END;

COMMENT ON FUNCTION require_vector IS
    'Raises PM006 for a query vector that cannot be compared.';

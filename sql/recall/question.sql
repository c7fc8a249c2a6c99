-- What is asked is refused here or never, in the words of the repository.
CREATE OR REPLACE FUNCTION question(
    agent text,
    -- Written by make recall: arguments.
    query agent_memories.embedding%TYPE DEFAULT NULL,
    query_text text DEFAULT NULL,
    profile text DEFAULT 'five_factor',
    k integer DEFAULT 10,
    weights jsonb DEFAULT NULL,
    min_score float8 DEFAULT NULL,
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
    OUT moment timestamptz, OUT owners text[], OUT asked_entities text[], OUT asked_words text,
    OUT asked_text text, OUT weighed float8[], OUT facts jsonb, OUT given text[])
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $function$
#variable_conflict use_variable
DECLARE
    value record;
BEGIN
    PERFORM require_owner(agent);
    owners := ARRAY[agent];
    IF cardinality(teams) > 0 THEN
        owners := owners || ARRAY(
            SELECT DISTINCT CASE WHEN starts_with(t, 'team:') THEN t ELSE 'team:' || t END
              FROM unnest(teams) t
            EXCEPT SELECT agent);
        PERFORM require_owner(id) FROM unnest(owners) id;
    END IF;
    moment := coalesce(as_of, now());
    facts := facts_of(profile);
    weighed := weights_of(facts, profile, weights);
    IF NOT apply_decay THEN
        facts := jsonb_set(facts, '{signals}', (
            SELECT jsonb_agg(CASE WHEN s.said ? 'undecayed'
                                  THEN s.said -> 'undecayed' || jsonb_build_object('name', s.said -> 'name')
                                  ELSE s.said END ORDER BY s.place)
              FROM jsonb_array_elements(facts -> 'signals') WITH ORDINALITY s(said, place)));
    END IF;
    IF apply_decay IS NULL THEN
        RAISE EXCEPTION 'apply_decay must be true or false, got NULL'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF k IS NULL OR k NOT BETWEEN 1 AND 1000000 THEN
        RAISE EXCEPTION 'k must lie within 1 and 1000000, got %', coalesce(k::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR value IN VALUES ('min_score', min_score), ('min_similarity', min_similarity),
                        ('min_trust', min_trust) LOOP
        IF NOT value.column2 BETWEEN 0 AND 1 THEN
            RAISE EXCEPTION '% must lie within 0 and 1, got %', value.column1, value.column2
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
    END LOOP;
    FOR value IN VALUES ('as_of', as_of), ('created_after', created_after),
                        ('created_before', created_before) LOOP
        IF NOT value.column2 BETWEEN '0001-01-02 00:00+00' AND '9999-12-30 00:00+00' THEN
            RAISE EXCEPTION '% must lie within 0001-01-02 and 9999-12-30, got %',
                value.column1, value.column2
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
    END LOOP;
    FOR value IN
        VALUES ('tiers', tiers, ARRAY['short', 'medium', 'long']),
               ('statuses', coalesce(statuses, ARRAY[NULL]),
                ARRAY['active', 'consolidated', 'completed', 'archived']),
               ('label_kinds', label_kinds, ARRAY['keyword', 'tag', 'concept', 'component']) LOOP
        IF NOT value.column2 <@ value.column3 THEN
            RAISE EXCEPTION '%: unknown %; known are %', value.column1, (
                SELECT quote_nullable(left(one, 60)) FROM unnest(value.column2) one
                 WHERE (one = ANY (value.column3)) IS NOT TRUE LIMIT 1),
                array_to_string(value.column3, ', ')
                USING ERRCODE = 'PM007';
        END IF;
    END LOOP;
    IF label_kinds IS NOT NULL AND labels IS NULL THEN
        RAISE EXCEPTION 'label_kinds narrows labels down: give labels too'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF length(question.text) > 10000 THEN
        RAISE EXCEPTION 'text may have at most 10,000 characters, got %', length(question.text)
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF jsonb_typeof(metadata) <> 'object' THEN
        RAISE EXCEPTION 'metadata must be a JSON object, got %', left(metadata::text, 60)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM require_vector(query);
    asked_text := CASE WHEN numnode(word_filter(question.text)) > 0 THEN question.text END;
    asked_words := CASE WHEN facts ->> 'reads' LIKE '%words.share%' THEN query_text END;
    asked_entities := ARRAY(SELECT DISTINCT one FROM unnest(query_entities) one WHERE one IS NOT NULL);
    IF cardinality(asked_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(asked_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    given := array_remove(ARRAY[
        -- Written by make recall: given.
        CASE WHEN min_similarity IS NOT NULL THEN 'min_similarity' END,
        CASE WHEN as_of IS NOT NULL THEN 'as_of' END,
        CASE WHEN memory_types IS NOT NULL THEN 'memory_types' END,
        CASE WHEN tiers IS NOT NULL THEN 'tiers' END,
        CASE WHEN tags IS NOT NULL THEN 'tags' END,
        CASE WHEN all_tags IS NOT NULL THEN 'all_tags' END,
        CASE WHEN entities IS NOT NULL THEN 'entities' END,
        CASE WHEN all_entities IS NOT NULL THEN 'all_entities' END,
        CASE WHEN labels IS NOT NULL THEN 'labels' END,
        CASE WHEN label_kinds IS NOT NULL THEN 'label_kinds' END,
        CASE WHEN text IS NOT NULL THEN 'text' END,
        CASE WHEN metadata IS NOT NULL THEN 'metadata' END,
        CASE WHEN created_after IS NOT NULL THEN 'created_after' END,
        CASE WHEN created_before IS NOT NULL THEN 'created_before' END,
        CASE WHEN components IS NOT NULL THEN 'components' END,
        CASE WHEN output_types IS NOT NULL THEN 'output_types' END,
        CASE WHEN domains IS NOT NULL THEN 'domains' END,
        CASE WHEN categories IS NOT NULL THEN 'categories' END,
        CASE WHEN loops IS NOT NULL THEN 'loops' END,
        CASE WHEN compliant IS NOT NULL THEN 'compliant' END,
        CASE WHEN min_trust IS NOT NULL THEN 'min_trust' END,
        CASE WHEN statuses IS NOT NULL THEN 'statuses' END,
        -- As written.
        CASE WHEN cardinality(owners) > 1 THEN 'teams' END,
        CASE WHEN include_invalid OR statuses <> '{active}' THEN 'not_recalled' END,
        CASE WHEN include_invalid IS NOT TRUE THEN 'valid' END,
        CASE WHEN query IS NOT NULL AND (facts -> 'requires_embedding')::boolean THEN 'embedding' END
    ], NULL);
    IF label_kinds IS NOT NULL THEN
        given := array_remove(given, 'labels');  -- of these kinds, which is told by the other
    END IF;
    IF asked_text IS NULL THEN
        given := array_remove(given, 'text');
    END IF;
END
$function$;

COMMENT ON FUNCTION question IS
    'The arguments of recall, refused where they cannot be asked, and what follows from them.';

CREATE OR REPLACE FUNCTION require_vector(query agent_memories.embedding%TYPE) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $function$
DECLARE
    stored integer;
BEGIN
    IF query IS NULL THEN
        RETURN;
    END IF;
    stored := (SELECT a.atttypmod FROM pg_attribute a
                WHERE a.attrelid = 'agent_memories'::regclass AND a.attname = 'embedding');
    IF @extschema:vector@.vector_dims(query) <> stored THEN
        RAISE EXCEPTION 'the query vector has % dimensions, the database stores %',
            @extschema:vector@.vector_dims(query), stored
            USING ERRCODE = 'PM006';
    ELSIF NOT query OPERATOR(@extschema:vector@.<=>) query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'PM006';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_vector IS
    'Raises PM006 for a query vector that nothing can be compared with.';

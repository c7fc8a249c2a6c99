-- All arguments are checked here, with the messages of the repository.
CREATE OR REPLACE FUNCTION question(
    agent text,
    @arguments@,
    OUT moment timestamptz, OUT owners text[], OUT asked_entities text[], OUT asked_words text,
    OUT weighed float8[], OUT facts jsonb, OUT options text[], OUT contained jsonb,
    OUT compared jsonb)
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    fault text;
    named boolean := false;
    asked_names integer;
    worded boolean;
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
    facts := profile_info(profile);
    weighed := weights_of(facts, profile, weights);
    IF half_life IS NOT NULL THEN
        facts := with_half_life(facts, profile, half_life);
    END IF;
    asked_entities := '{}';
    IF query_entities IS NOT NULL THEN
        asked_entities := ARRAY(
            SELECT DISTINCT one FROM unnest(query_entities) one WHERE one IS NOT NULL);
    END IF;
    fault := @fault@;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING ERRCODE = 'invalid_parameter_value';
    ELSIF current_setting('gin_fuzzy_search_limit') <> '0' THEN
        RAISE EXCEPTION 'gin_fuzzy_search_limit is %, with which searches miss memories at random: '
            'set it to 0', current_setting('gin_fuzzy_search_limit')
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF statuses IS DISTINCT FROM '{active}' OR greatest(
        @sizes@) IS NOT NULL THEN
        PERFORM require_one_of(one.name, word, one.known)
           FROM (VALUES @words@) one(name, words, known), unnest(one.words) word;
        PERFORM require_few(one.key, ARRAY(SELECT jsonb_array_elements_text(one.value)))
           FROM (SELECT query_entities, teams,
                 @filters@
                ) lists, jsonb_each(to_jsonb(lists)) one WHERE jsonb_typeof(one.value) = 'array';
    END IF;
    PERFORM require_vector(query);
    IF metadata IS NOT NULL THEN
        compared := metadata_comparisons(metadata);
        contained := coalesce((
            SELECT jsonb_object_agg_unique((metadata_path(m.key))[1], m.value)
              FROM jsonb_each(metadata) m
             WHERE m.key NOT IN (SELECT one ->> 'key'
                                   FROM jsonb_array_elements(compared) one)), '{}');
    END IF;
    IF facts @? '$.signals[*] ? (@.name == "entity_overlap")' THEN
        SELECT n.entities, n.names INTO asked_entities, asked_names
          FROM asked_names(owners, asked_entities, CASE WHEN query_entities IS NULL
                                                        THEN keywords END,
                           facts ? 'subjects_named') n;
        named := asked_names > 0;
        facts := facts || jsonb_build_object('names', asked_names);
    END IF;
    worded := keywords IS NOT NULL
        AND (facts @? '$.signals[*] ? (@.name == "keyword")' OR min_relevance IS NOT NULL
             OR facts ? 'min_relevance');
    asked_words := CASE WHEN worded THEN keywords END;
    IF facts ? 'redistribute' THEN  -- the statement does it for a text without any term
        weighed := redistributed(facts, weighed, array_remove(ARRAY[
            CASE WHEN query IS NULL THEN 'similarity' END,
            CASE WHEN NOT worded THEN 'keyword' END,
            CASE WHEN NOT named THEN 'entity_overlap' END,
            CASE WHEN query_time IS NULL THEN 'time' END], NULL));
    END IF;
    -- Expressions without FROM, which PL/pgSQL evaluates several times as fast.
    options := array_remove(ARRAY['planned',
        @named_filters@,
        CASE WHEN include_invalid IS NOT TRUE THEN 'valid' END,
        CASE WHEN compared IS NOT NULL THEN 'compared' END,
        CASE WHEN cardinality(owners) > 1 THEN 'teams' END,
        CASE WHEN is_distributed() THEN 'large' END,
        CASE WHEN is_distributed() AND cardinality(owners) > 1 THEN 'divided' END,
        CASE WHEN as_of IS NOT NULL THEN 'as_of' END,
        CASE WHEN query IS NOT NULL THEN 'query' END,
        CASE WHEN worded THEN 'words' END,
        CASE WHEN named THEN 'named' END,
        CASE WHEN min_relevance IS NOT NULL
                  OR facts ? 'min_relevance' AND (worded OR query IS NOT NULL)
             THEN 'relevance' END,
        CASE WHEN min_relevance IS NOT NULL THEN 'min_relevance' END,
        CASE WHEN min_similarity IS NOT NULL THEN 'min_similarity' END,
        CASE WHEN min_score IS NOT NULL THEN 'min_score' END,
        CASE WHEN surrounding_turns > 0 THEN 'surrounding_turns' END
    ], NULL);
    options := array_remove(options, 'include_invalid');
    IF statuses = '{active}' THEN
        options := array_remove(options, 'statuses');
    END IF;
    IF contained = '{}' THEN  -- comparisons only
        options := array_remove(options, 'metadata');
    END IF;
    IF text IS NOT NULL AND numnode(word_filter(text)) = 0 THEN  -- stop words only
        options := array_remove(options, 'text');
    END IF;
    IF query_time IS NOT NULL AND EXISTS (
        SELECT FROM jsonb_array_elements(facts -> 'signals') WITH ORDINALITY s(said, place)
         WHERE s.said ->> 'name' = 'time' AND weighed[s.place] > 0) THEN
        options := options || 'period'::text;
    END IF;
    options := options || profile_options(facts, options);
END
$function$;

COMMENT ON FUNCTION question IS
    'Checks the arguments of recall, and returns what follows from them.';

CREATE OR REPLACE FUNCTION asked_names(
    owners text[], given text[], said text, subjects boolean, OUT entities text[],
    OUT names integer)
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
BEGIN
    IF cardinality(owners) > 1 AND is_distributed() THEN  -- each is on its own node
        SELECT coalesce(array_agg(DISTINCT e), '{}'), coalesce(max(f.names), 0)
          INTO entities, names
          FROM unnest(owners) o, asked_names(ARRAY[o], given, said, subjects) f,
               unnest(f.entities) e;
        entities := entities[:@MAX_QUERY_ENTITIES@];
    ELSIF said IS NOT NULL THEN
        SELECT coalesce(n.entities, '{}'), n.names INTO entities, names
          FROM named_entities(owners[1], said, subjects, owners[2:]) n;
    ELSE
        entities := known_as(owners[1], given, owners[2:]);
        names := cardinality(given);
    END IF;
END
$function$;

COMMENT ON FUNCTION asked_names IS
    'Returns the entities that a text or these names stand for, and how many names these are.';

CREATE OR REPLACE FUNCTION metadata_comparisons(metadata jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    known text[] := @OPERATORS@;
    compared jsonb;
    one record;
BEGIN
    IF jsonb_typeof(metadata) <> 'object' THEN
        RAISE EXCEPTION 'metadata must be a JSON object, got %', left(metadata::text, 60)
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF is_deep(metadata) THEN
        RAISE EXCEPTION 'metadata may be nested at most @MAX_DEPTH@ levels deep'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM require(count(*) <= @MAX_VALUES@, 'metadata may have at most @MAX_VALUES,@ values')
       FROM jsonb_path_query(
                metadata, 'strict $.** ? (@.type() <> "object" && @.type() <> "array")');
    PERFORM require(
                length(key) <= @MAX_FILTER_TEXT@
                AND cardinality(metadata_path(key)) <= @MAX_DEPTH@,
                format('metadata[%s]: a path may have at most @MAX_DEPTH@ keys and '
                       '@MAX_FILTER_TEXT,@ characters', quote_literal(left(key, 60))))
       FROM jsonb_object_keys(metadata) key;
    compared := (
        SELECT jsonb_agg(jsonb_build_object('key', m.key, 'path', m.path::text,
                                            'operator', c.key, 'value', c.value))
          FROM (SELECT e.key, e.value, metadata_path(e.key) AS path FROM jsonb_each(metadata) e) m,
               jsonb_each(CASE WHEN m.value @? 'strict $.keyvalue() ? (@.key starts with "$")'
                               THEN m.value
                               WHEN cardinality(m.path) > 1
                               THEN jsonb_build_object('$eq', m.value) END) c);
    IF jsonb_array_length(compared) > @MAX_COMPARISONS@ THEN
        RAISE EXCEPTION 'metadata may have at most @MAX_COMPARISONS@ comparisons, got %',
            jsonb_array_length(compared)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR one IN SELECT c.*, coalesce(jsonb_typeof(c.value), 'null') AS kind
                 FROM jsonb_to_recordset(compared) c(key text, operator text, value jsonb) LOOP
        IF one.operator <> ALL (known) THEN
            RAISE EXCEPTION 'metadata[%]: unknown operator %; the operators are %',
                quote_literal(left(one.key, 60)), quote_literal(left(one.operator, 60)),
                array_to_string(known, ', ') USING ERRCODE = 'PM007';
        ELSIF one.operator IN ('$gt', '$gte', '$lt', '$lte')
                  AND one.kind NOT IN ('number', 'string')
              OR one.operator IN ('$in', '$nin') AND one.kind <> 'array'
              OR one.operator = '$exists' AND one.kind <> 'boolean' THEN
            RAISE EXCEPTION 'metadata[%]: % takes %, got %', quote_literal(left(one.key, 60)),
                one.operator, CASE WHEN one.operator IN ('$in', '$nin') THEN 'a list'
                                   WHEN one.operator = '$exists' THEN 'true or false'
                                   ELSE 'a number or a text' END,
                coalesce(left(one.value::text, 60), 'null')
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
    END LOOP;
    RETURN compared;
END
$function$;

COMMENT ON FUNCTION metadata_comparisons IS
    'The comparisons in a metadata filter, such as {"key": {"$gte": 3}}, as a list of key, path, '
    'operator and value; NULL: none.';

-- The same as `path_of` in Python.
CREATE OR REPLACE FUNCTION metadata_path(key text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(
        SELECT regexp_replace(s.step, '\\([.\\])', '\1', 'g')
          FROM regexp_split_to_table(key, '(?<!(?:^|[^\\])(?:\\\\)*\\)\.')
               WITH ORDINALITY s(step, place)
         ORDER BY s.place);

COMMENT ON FUNCTION metadata_path IS
    'The keys of a path in a metadata filter, which dots separate; \. is a dot and \\ a backslash '
    'in a key.';

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
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    IF query IS NULL THEN
        RETURN;
    ELSIF @extschema:vector@.vector_dims(query) <> embedding_dimensions() THEN
        RAISE EXCEPTION 'the query vector has % dimensions, the database stores %',
            @extschema:vector@.vector_dims(query), embedding_dimensions()
            USING ERRCODE = 'PM006';
    ELSIF NOT query OPERATOR(@extschema:vector@.<=>) query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'PM006';
    END IF;
END
$function$;

COMMENT ON FUNCTION require_vector IS
    'Raises PM006 for a query vector that cannot be compared.';

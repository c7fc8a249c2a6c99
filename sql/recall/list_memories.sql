-- The repository's list for psql, by the same statement: the page is sorted by keys alone, and then
-- read in full.
CREATE OR REPLACE FUNCTION list_memories(
    agent text,
    order_by text[] DEFAULT '{-created_at}',
    most integer DEFAULT 50,
    after text DEFAULT NULL,
    as_of timestamptz DEFAULT NULL,
    @filtering@
) RETURNS TABLE (
    id uuid, content text, memory_type text, created_at timestamptz, cursor text
)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    sorted record;
    last jsonb;
BEGIN
    asked := question(agent, profile => 'hybrid', as_of => as_of, @filtered@);
    metadata := asked.contained;
    PERFORM require_count('most', most, 1, @MAX_LISTED@);
    sorted := list_order(order_by);
    last := last_of_page(after, sorted.names, sorted.types);
    RETURN QUERY EXECUTE format(
        'SELECT id, content, memory_type, created_at, cursor_of(%L, jsonb_build_array(%s)) '
        'FROM (%s) listed',
        to_jsonb(sorted.names), array_to_string(sorted.columns, ', '),
        filtering_text('list', asked.options
            || CASE WHEN sorted.reads_usage THEN '{listed_by_usage}' ELSE '{}' END::text[]
            || CASE WHEN last IS NOT NULL THEN '{following}' ELSE '{}' END::text[],
            jsonb_build_object(
                'keys', (SELECT string_agg(format('%s AS %I', e, c), ', ')
                           FROM unnest('agent_memories.agent_id'::text || sorted.expressions,
                                       'agent_id'::text || sorted.columns) s(e, c)),
                'order', order_clause(sorted.names),
                'following', following_clause(
                    sorted.names, sorted.types, sorted.expressions, last))))
        USING most, last, agent, asked.compared, @filters@, as_of;
END
$function$;

COMMENT ON FUNCTION list_memories IS
    'Memories that pass the filters, in the order of any columns (-name: the largest first; NULL '
    'last; ties by id). after: the cursor of the last row of the page before.';

CREATE OR REPLACE FUNCTION list_order(
    order_by text[], OUT names text[], OUT columns text[], OUT types text[], OUT expressions text[],
    OUT reads_usage boolean)
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    sortable text[];
    known_types text[];
    name text;
    bare text;
BEGIN
    SELECT array_agg(a.attname::text ORDER BY a.attnum),
           array_agg(format_type(a.atttypid, NULL) ORDER BY a.attnum)
      INTO sortable, known_types
      FROM pg_attribute a
     WHERE a.attrelid = 'memory_records'::regclass AND a.attnum > 0
       AND a.attname NOT IN ('agent_id', 'content')
       AND a.atttypid IN ('text'::regtype, 'float8'::regtype, 'integer'::regtype,
                          'boolean'::regtype, 'timestamptz'::regtype, 'uuid'::regtype);
    FOREACH name IN ARRAY order_by || 'id'::text LOOP
        bare := regexp_replace(name, '^-', '');
        PERFORM require_one_of('column', bare, sortable);
        CONTINUE WHEN ARRAY[bare, '-' || bare] && names;  -- it decides nothing any more
        names := names || name;
        columns := columns || bare;
        types := types || known_types[array_position(sortable, bare)];
        expressions := expressions || CASE
            WHEN bare = 'last_accessed_at' THEN 'memory_usage.last_accessed_at'
            WHEN bare ~ '^(retrieval|success|failure)_count$|^feedback_(up|down)$'
            THEN format('coalesce(memory_usage.%I, 0)', bare)
            ELSE format('agent_memories.%I', bare) END;
        EXIT WHEN bare = 'id';  -- no two have the same
    END LOOP;
    reads_usage := array_to_string(expressions, ' ') ~ 'memory_usage';
END
$function$;

COMMENT ON FUNCTION list_order IS
    'The columns of an order, the last being id, with their types and how they are read. Raises '
    'PM007 for one that memories cannot be sorted by.';

CREATE OR REPLACE FUNCTION order_clause(names text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT string_agg(format('one.%I', ltrim(n, '-'))
                                || CASE WHEN starts_with(n, '-') THEN ' DESC' ELSE '' END
                                || CASE WHEN n IN ('id', '-id') THEN '' ELSE ' NULLS LAST' END,
                              ', ' ORDER BY place)
              FROM unnest(names) WITH ORDINALITY o(n, place));

COMMENT ON FUNCTION order_clause IS
    'What follows ORDER BY; NULL comes last. The id is never NULL.';

CREATE OR REPLACE FUNCTION following_clause(
    names text[], types text[], expressions text[], last jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    condition text := 'false';
BEGIN
    IF last IS NULL THEN
        RETURN 'true';
    END IF;
    FOR n IN REVERSE cardinality(names) .. 1 LOOP
        condition := CASE
            WHEN last ->> (n - 1) IS NULL
            THEN format('%s IS NULL AND (%s)', expressions[n], condition)
            ELSE format(CASE WHEN names[n] IN ('id', '-id') THEN '%1$s %2$s %3$s'
                             ELSE '%1$s %2$s %3$s OR %1$s IS NULL OR %1$s = %3$s AND (%4$s)' END,
                        expressions[n], CASE WHEN starts_with(names[n], '-') THEN '<' ELSE '>' END,
                        format('(:last::jsonb ->> %s)::%s', n - 1, types[n]), condition) END;
    END LOOP;
    RETURN condition;
END
$function$;

COMMENT ON FUNCTION following_clause IS
    'The condition that a memory comes after the last one of a page, whose values are :last.';

-- The same as in Python: base64url of {"order": names, "last": values}.
CREATE OR REPLACE FUNCTION cursor_of(names jsonb, last jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(
        encode(convert_to(jsonb_build_object('order', names, 'last', last)::text, 'UTF8'),
               'base64'),
        E'+/=\n', '-_');

COMMENT ON FUNCTION cursor_of IS
    'The cursor of a memory in a list.';

CREATE OR REPLACE FUNCTION last_of_page(after text, names text[], types text[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    said jsonb;
    last jsonb;
BEGIN
    IF after IS NULL THEN
        RETURN NULL;
    END IF;
    BEGIN
        said := convert_from(decode(
            rpad(translate(after, '-_', '+/'), (length(after) + 3) / 4 * 4, '='), 'base64'),
            'UTF8')::jsonb;
        last := said -> 'last';
        IF said -> 'order' = to_jsonb(names) THEN
            PERFORM require(jsonb_array_length(last) = cardinality(names), 'length');
            PERFORM require(last ->> -1 IS NOT NULL, 'id');
            FOR n IN 1 .. cardinality(names) LOOP
                EXECUTE format('SELECT ($1 ->> %s)::%s', n - 1, types[n]) USING last;
            END LOOP;
            RETURN last;
        END IF;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
        said := NULL;
    END;
    IF jsonb_typeof(said -> 'order') = 'array' THEN
        RAISE EXCEPTION 'after was made for the order %, not for %; give the same order for each '
            'page', left(said ->> 'order', 100), to_jsonb(names)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RAISE EXCEPTION 'after must be the cursor of a row of this list, got %',
        quote_literal(left(after, 100)) USING ERRCODE = 'invalid_parameter_value';
END
$function$;

COMMENT ON FUNCTION last_of_page IS
    'The values in a cursor; NULL: there is none. Raises invalid_parameter_value for one that '
    'cannot be used.';

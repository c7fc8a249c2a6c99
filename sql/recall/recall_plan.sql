-- What EXPLAIN of a call of recall does not show: the statement that it runs, and its plan.
CREATE OR REPLACE FUNCTION recall_plan(
    agent text,
    @arguments@,
    strategy text DEFAULT 'auto',
    run boolean DEFAULT false,
    diversity float8 DEFAULT 0
) RETURNS SETOF text
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    ranked integer := most_ranked(k, diversity);
    chooses jsonb := jsonb_build_object('diversity', diversity);
    sources jsonb;
    statement text;
    line text;
BEGIN
    profile := coalesce(profile, default_profile());
    asked := question(@passed@);
    asked.options := diverse_options(asked.options, diversity, k, surrounding_turns);
    keywords := asked.asked_words;
    query_entities := asked.asked_entities;
    metadata := asked.contained;
    sources := index_sources(strategy, asked.owners, asked.moment, asked.facts, asked.weighed,
        query, 'named' = ANY (asked.options), ranked, asked.options);
    statement := statement_for('search', asked.facts, asked.options || index_options(sources));
    RETURN QUERY SELECT string_to_table(statement, E'\n');
    RETURN NEXT '';
    FOR line IN EXECUTE CASE WHEN run THEN 'EXPLAIN (VERBOSE, ANALYZE, BUFFERS) '
                             ELSE 'EXPLAIN (VERBOSE) ' END || statement
        USING ranked, asked.owners, asked.weighed, coalesce(sources,
                  ranked_apart('best', ranked, asked.options, asked.owners, @passed@)) || chooses,
              asked.compared, @passed@
    LOOP
        RETURN NEXT regexp_replace(line, '\[[-0-9.e,]{40,}\]', '[…]', 'g');  -- the query vector
    END LOOP;
END
$function$;

COMMENT ON FUNCTION recall_plan IS
    'The statement that recall runs first with these arguments, and its plan. run: run it, and '
    'show times and buffers.';

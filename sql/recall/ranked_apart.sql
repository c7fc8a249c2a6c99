-- Each statement runs on the node of its owner. The rows of all are few, but for scores.
CREATE OR REPLACE FUNCTION ranked_apart(
    statement text, ranked integer, options text[], owners text[], agent text, @arguments@)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    found jsonb;
    hits jsonb := '[]';
BEGIN
    IF NOT 'divided' = ANY (options) THEN
        RETURN '{"exact": true}';
    END IF;
    asked := question(@passed@);
    options := alone(options);
    FOREACH agent IN ARRAY owners LOOP
        EXECUTE format('SELECT coalesce(jsonb_agg(b), ''[]'') FROM (%s) b',
                       statement_for(statement, asked.facts, options))
           INTO found
          USING ranked, owners, asked.weighed, '{}'::jsonb, asked.compared,
                @passed@;
        hits := hits || found;
    END LOOP;
    RETURN (
        SELECT jsonb_build_object(
                   'exact', true,
                   'ranked_owners', coalesce(array_agg(h.agent_id), '{}')::text,
                   'ranked_ids', coalesce(array_agg(h.id), '{}')::text,
                   'ranked_scores', coalesce(array_agg(h.score), '{}')::text,
                   'ranked_shares', coalesce(array_agg(h.share), '{}')::text,
                   'ranked_coverages', coalesce(array_agg(h.coverage), '{}')::text)
          FROM (SELECT r.* FROM jsonb_to_recordset(hits)
                       r(agent_id text, id uuid, score float8, share float8, coverage float8)
                 ORDER BY r.score DESC, r.id
                 LIMIT CASE statement WHEN 'best' THEN ranked END) h);
END
$function$;

COMMENT ON FUNCTION ranked_apart IS
    'Values of a statement about owners who may be on different nodes of Citus, for each of whom '
    'another one is run first.';

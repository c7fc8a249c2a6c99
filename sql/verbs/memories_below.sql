-- Memories that are no longer valid are scored too, since pruning removes them as well. The query
-- sorts nothing and has no k. It has a full join, as in search (ADR-0033): a left join may look for
-- the counters of each memory among all of the owner. A CASE hides the condition on the score,
-- which would turn it into one.
CREATE OR REPLACE FUNCTION memories_below(agent text, below_score float8, profile text)
    RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    facts jsonb := profile_info(profile);
    options text[] := profile_options(facts, '{}') || '{planned}';
    low uuid[];
BEGIN
    EXECUTE format('SELECT array_agg(id) FROM (%s) scored
                    WHERE CASE WHEN score < $2 THEN true ELSE false END', (
        SELECT filled(composed('scores', options, t.score, t.signals),
                      t.weights || '{"owner_id": "$1"}', 'NULL')
          FROM scored_text(facts, statement_options(options)) t))
       INTO low USING agent, below_score, weights_of(facts, profile, NULL);
    RETURN coalesce(low, '{}');
END
$function$;

COMMENT ON FUNCTION memories_below IS
    'Returns the active memories of an owner whose score by a profile, without a query, is less '
    'than below_score.';

-- Memories that are no longer valid are scored too, since pruning is for them as well. Nothing is
-- sorted, and there is no k. A full join, as in search (ADR-0046): a left join may look for the
-- counters of each memory among all of the owner.
CREATE OR REPLACE FUNCTION memories_below(agent text, below_score float8, profile text)
    RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    facts jsonb := facts_of(profile);
    query agent_memories.embedding%TYPE;
    options text[] := CASE WHEN facts @? '$.signals[*] ? (@.reads_usage == true)' THEN '{usage}' ELSE '{}' END;
    low uuid[];
BEGIN
    EXECUTE format('SELECT array_agg(id) FROM (%s) scored WHERE score < $6',
                   statement_for('scores', facts, options))
       INTO low USING NULL::integer, ARRAY[agent], weights_of(facts, profile, NULL), NULL::jsonb,
                      NULL::jsonb, agent, query, below_score;
    RETURN coalesce(low, '{}');
END
$function$;

COMMENT ON FUNCTION memories_below IS
    'The active memories of an owner that score less than below_score by a profile, without a query.';

-- Memories that are no longer valid are scored too, since pruning is for them as well. Nothing is
-- sorted, and there is no k. A full join, as in search (ADR-0046): a left join may look for the
-- counters of each memory among all of the owner.
CREATE OR REPLACE FUNCTION memories_below(agent text, below_score float8, profile text)
    RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    facts jsonb := facts_of(profile);
    query agent_memories.embedding%TYPE;
    low uuid[];
BEGIN
    EXECUTE format(
        'SELECT array_agg(m.id)
           FROM (SELECT m.* FROM agent_memories m
                  WHERE m.agent_id = $1 AND m.status = ''active'') m
           FULL JOIN (SELECT u.* FROM memory_usage u WHERE u.agent_id = $1) u ON u.memory_id = m.id
          CROSS JOIN (SELECT $2 AS query, now() AS moment, NULL::text[] AS query_entities,
                             NULL::tstzrange AS query_time, true AS apply_decay) q
          CROSS JOIN (SELECT 0::float8 AS share) words
          WHERE CASE WHEN m.id IS NULL THEN false ELSE score_%s(%s, $3) < $4 END',
        profile, facts ->> 'reads')
       INTO low USING agent, query, weights_of(facts, profile, NULL), below_score;
    RETURN coalesce(low, '{}');
END
$function$;

COMMENT ON FUNCTION memories_below IS
    'The active memories of an owner that score less than below_score by a profile, without a query.';

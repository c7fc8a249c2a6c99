-- On Citus, an inlined function would read the tables of the coordinator, which are empty, without
-- an error. So distribute() makes ranked call this: it executes the same text for one agent after
-- the other, each routed to its node by a comparison with every table.
CREATE OR REPLACE FUNCTION _ranked_on_nodes(
    agent_id text, query agent_memories.embedding%TYPE, keywords text, profile text, weights jsonb,
    half_life float8, entities text[], period tstzrange, teams text[], as_of timestamptz,
    include_inactive boolean)
    RETURNS SETOF _ranked
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    agents text[] := agents_of(agent_id, teams);
    named text[] := '{}';
    names integer := 0;
    found record;
    one text;
BEGIN
    IF NOT require_search(agent_id, query, keywords, profile, weights, half_life, entities, period,
                          teams, as_of) THEN
        RETURN;
    END IF;
    FOREACH one IN ARRAY agents LOOP  -- what one of them calls by a name counts for all
        SELECT f.query_entities, f.names_in_query INTO found
          FROM query_facts(ARRAY[one], NULL, keywords, keywords, entities, NULL, 0,
                           @subjects_asked@, as_of) f;
        named := named || ARRAY(SELECT unnest(found.query_entities) EXCEPT SELECT unnest(named));
        names := greatest(names, found.names_in_query);
    END LOOP;
    FOREACH one IN ARRAY agents LOOP
        RETURN QUERY EXECUTE $text$
@text@
$text$
        USING agent_id, query, keywords, coalesce(profile, default_profile()), weights, half_life,
              entities, period, teams, as_of, coalesce(include_inactive, false), one, agents,
              named[:@MAX_QUERY_ENTITIES@], names;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION _ranked_on_nodes IS
    'Returns what ranked returns, where the tables are distributed over several nodes.';

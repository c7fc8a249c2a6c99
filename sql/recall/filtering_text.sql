-- For EXECUTE … USING limit, last, owner, compared, the filters, and as_of.
CREATE OR REPLACE FUNCTION filtering_text(name text, options text[], places jsonb DEFAULT '{}')
    RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    named text[] := regexp_split_to_array($$limit, last, owner_id, compared,
        @filters@, as_of$$, ',\s+');
BEGIN
    -- Usage counts for profiles alone, unless trust decays.
    RETURN filled(filled(composed(name, array_remove(options, 'usage')),
                         '{"keys": "agent_memories.agent_id, agent_memories.id"}' || places),
        (SELECT jsonb_object_agg(n.name, '$' || n.place)
           FROM unnest(named) WITH ORDINALITY n(name, place)));
END
$function$;

COMMENT ON FUNCTION filtering_text IS
    'The text of a statement that filters, and does not rank. places: what stands for other names.';

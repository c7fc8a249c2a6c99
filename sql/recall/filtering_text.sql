-- For EXECUTE … USING limit, last, owner, compared, the filters, and as_of.
CREATE OR REPLACE FUNCTION filtering_text(name text, options text[], places jsonb DEFAULT '{}')
    RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    -- Usage counts for profiles alone, unless trust decays.
    RETURN filled(filled(composed(name, array_remove(options, 'usage')),
                         '{"keys": "agent_memories.agent_id, agent_memories.id"}' || places),
                  @filtering_numbers@);

COMMENT ON FUNCTION filtering_text IS
    'The text of a statement that filters, and does not rank. places: what stands for other names.';

CREATE OR REPLACE FUNCTION forget_matching(
    agent text,
    @filtering@,
    dry_run boolean DEFAULT false, reason text DEFAULT NULL, actor text DEFAULT session_user
) RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    asked record;
    ids uuid[];
BEGIN
    PERFORM require_note(agent, actor, '{}');
    asked := question(agent, profile => 'hybrid', @filtered@);
    metadata := asked.contained;
    IF asked.options <@ '{planned,valid,usage}' THEN
        RAISE EXCEPTION 'forget_matching needs a filter that leaves something out; erase_owner deletes all '
            'that an owner has' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Locked in the order of the key; a memory that has been changed meanwhile must still pass.
    EXECUTE filtered_text(asked.options, $text$
SELECT ARRAY(SELECT agent_memories.id FROM agent_memories
               LEFT JOIN memory_usage
                 ON memory_usage.agent_id = agent_memories.agent_id
                AND memory_usage.memory_id = agent_memories.id AND memory_usage.agent_id = :owner_id::text
              WHERE {passes}
              ORDER BY agent_memories.id$text$
        || CASE WHEN dry_run THEN ')' ELSE ' FOR UPDATE OF agent_memories)' END)
        INTO ids
        USING NULL::integer, NULL::jsonb, agent, asked.compared, @filters@, NULL::timestamptz;
    IF NOT dry_run THEN
        PERFORM forget(agent, ids, reason, actor);
    END IF;
    RETURN QUERY SELECT unnest(ids);
END
$function$;

COMMENT ON FUNCTION forget_matching IS
    'Deletes the memories that pass the filters, as forget does, and returns their ids. dry_run: only returns them. Raises invalid_parameter_value without a filter.';

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
    PERFORM require(NOT asked.options <@ '{planned,large,valid,usage,keyword,redistribute}',
                    'forget_matching needs a filter that leaves something out; erase_owner '
                    'deletes all that an owner has');
    -- Locked in the order of the key; a memory that has changed in the meantime must still pass.
    EXECUTE format(
        'SELECT ARRAY(%s)',
        filtering_text(CASE WHEN dry_run THEN 'passing' ELSE 'delete' END, asked.options))
        INTO ids
        USING NULL::integer, NULL::jsonb, agent, asked.compared, @filters@, NULL::timestamptz;
    IF NOT dry_run THEN
        PERFORM forget(agent, ids, reason, actor);
    END IF;
    RETURN QUERY SELECT unnest(ids);
END
$function$;

COMMENT ON FUNCTION forget_matching IS
    'Deletes the memories that pass the filters, as forget does, and returns their ids. With '
    'dry_run it only returns them. Raises invalid_parameter_value without a filter.';

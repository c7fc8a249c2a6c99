-- A position holds the direction of an embedding: what is deleted must not live on there.
CREATE FUNCTION forget_positions(agent text, table_name text, ids uuid[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $function$
DECLARE
    found text := (SELECT r.relation FROM rank_indexes r
                    WHERE r.agent_id = agent AND r.table_name = forget_positions.table_name);
    forgotten bigint := 0;
BEGIN
    IF found IS NULL THEN
        RETURN 0;
    ELSIF found !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', found
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF ids IS NULL THEN
        DELETE FROM rank_indexes r
         WHERE r.agent_id = agent AND r.table_name = forget_positions.table_name;
        EXECUTE format('DELETE FROM %I', found);
    ELSE
        EXECUTE format('DELETE FROM %I WHERE memory_id = ANY ($1)', found) USING ids;
    END IF;
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
EXCEPTION WHEN undefined_table THEN
    RETURN 0;
END
$function$;

COMMENT ON FUNCTION forget_positions IS
    'Deletes the positions of memories from their owner''s rank index; without ids of all, and the index is no longer used.';

-- A position holds the direction of an embedding: what is deleted must not live on there. The lock
-- is the one that a build takes at its end, to delete what was deleted while it ran. With the
-- rights of its owner, since a role may have been granted to delete memories after the build; whoever
-- may not delete memories may not do this.
CREATE FUNCTION forget_positions(agent text, table_name text, ids uuid[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path FROM CURRENT
AS $function$
DECLARE
    found text;
    forgotten bigint := 0;
BEGIN
    IF table_name NOT IN ('agent_memories', 'team_memories') THEN
        RAISE EXCEPTION 'table_name must be agent_memories or team_memories, got %', table_name
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF NOT has_table_privilege(
            coalesce(nullif(current_setting('role'), 'none'), session_user), table_name, 'DELETE') THEN
        RAISE EXCEPTION 'permission denied for table %', table_name
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(format(
        'pgrecall positions %s %s %s', current_schema(), table_name, agent), 0));
    SELECT r.relation INTO found FROM rank_indexes r
     WHERE r.agent_id = agent AND r.table_name = forget_positions.table_name;
    IF found IS NULL THEN
        RETURN 0;
    ELSIF found !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', found
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF ids IS NULL THEN
        DELETE FROM rank_indexes r
         WHERE r.agent_id = agent AND r.table_name = forget_positions.table_name;
    END IF;
    BEGIN
        EXECUTE format('DELETE FROM %I WHERE $1 IS NULL OR memory_id = ANY ($1)', found) USING ids;
        GET DIAGNOSTICS forgotten = ROW_COUNT;
    EXCEPTION WHEN undefined_table THEN
        NULL;
    END;
    RETURN forgotten;
END
$function$;

COMMENT ON FUNCTION forget_positions IS
    'Deletes the positions of memories from their owner''s rank index; without ids of all, and the index is no longer used.';

-- A position holds the direction of an embedding: what is deleted must not live on there. With the
-- rights of its owner, since a role may have been granted to delete memories after the build. It can
-- be abused for nothing: only positions of memories that are gone are deleted, and who may delete no
-- memories may not even do that. The lock is the one that a build takes at its end, to delete what
-- was deleted while it ran.
CREATE FUNCTION forget_positions(agent text, table_name text, ids uuid[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path FROM CURRENT
AS $function$
DECLARE
    caller text := coalesce(nullif(current_setting('role'), 'none'), session_user);
    found text;
    emptied boolean;
    forgotten bigint := 0;
BEGIN
    IF table_name NOT IN ('agent_memories', 'team_memories') THEN
        RAISE EXCEPTION 'table_name must be agent_memories or team_memories, got %',
            left(table_name, 100)
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF NOT has_table_privilege(caller, table_name, 'DELETE') THEN
        RAISE EXCEPTION 'permission denied for table %', table_name
            USING ERRCODE = 'insufficient_privilege';
    ELSIF row_security_active(table_name) THEN
        RAISE EXCEPTION 'the owner of the schema is subject to row-level security and cannot see '
            'which memories are gone'
            USING ERRCODE = 'insufficient_privilege',
                  HINT = 'Do not FORCE row-level security; let the application use another role.';
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
    END IF;
    IF ids IS NULL THEN
        EXECUTE format('SELECT NOT EXISTS (SELECT FROM %I WHERE %I = $1)', table_name,
                       CASE table_name WHEN 'team_memories' THEN 'team_id' ELSE 'agent_id' END)
            INTO emptied USING agent;
        DELETE FROM rank_indexes r
         WHERE emptied AND r.agent_id = agent AND r.table_name = forget_positions.table_name;
    END IF;
    BEGIN
        EXECUTE format($$
            DELETE FROM %I p
             WHERE ($1 IS NULL OR p.memory_id = ANY ($1))
               AND NOT EXISTS (SELECT FROM %I m WHERE m.%I = $2 AND m.id = p.memory_id) $$,
            found, table_name,
            CASE table_name WHEN 'team_memories' THEN 'team_id' ELSE 'agent_id' END)
            USING ids, agent;
        GET DIAGNOSTICS forgotten = ROW_COUNT;
    EXCEPTION WHEN undefined_table THEN
        NULL;
    END;
    RETURN forgotten;
END
$function$;

REVOKE ALL ON FUNCTION forget_positions FROM PUBLIC;

COMMENT ON FUNCTION forget_positions IS
    'Deletes the positions of memories that were deleted from their owner''s rank index; without ids all such, and where no memory is left the index is no longer used. For roles that may delete memories.';

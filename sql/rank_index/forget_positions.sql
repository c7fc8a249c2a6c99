-- For writers.
-- A position holds the direction of an embedding, so it is deleted with its memory. SECURITY
-- DEFINER, since a role may have been granted DELETE on memories after the build. It cannot be
-- abused: it deletes only positions of memories that no longer exist, and only for callers that may
-- delete memories. Tables are named with their schema, so that a temporary table of the same name,
-- with triggers of the caller's, is never used. The lock is the one that a build takes at its end,
-- when it removes memories that were deleted meanwhile.
CREATE OR REPLACE FUNCTION forget_positions(agent text, ids uuid[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $function$
DECLARE
    caller text := coalesce(nullif(current_setting('role'), 'none'), session_user);
    found text;
    removed bigint;
    forgotten bigint := 0;
BEGIN
    IF NOT has_table_privilege(caller, 'agent_memories', 'DELETE') THEN
        RAISE EXCEPTION 'permission denied for table agent_memories'
            USING ERRCODE = 'insufficient_privilege';
    ELSIF row_security_active('agent_memories') THEN
        RAISE EXCEPTION 'the owner of the schema is subject to row-level security and cannot see '
            'which memories are gone'
            USING ERRCODE = 'insufficient_privilege',
                  HINT = 'Do not FORCE row-level security; let the application use another role.';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(format(
        'pgrecall positions %s %s', current_schema(), agent), 0));
    SELECT r.relation INTO found FROM rank_indexes r WHERE r.agent_id = agent;
    IF found IS NULL THEN
        RETURN 0;
    ELSIF found !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', found
            USING ERRCODE = 'data_exception';
    END IF;
    IF ids IS NULL AND NOT EXISTS (SELECT FROM agent_memories m WHERE m.agent_id = agent) THEN
        DELETE FROM rank_indexes r WHERE r.agent_id = agent;
    END IF;
    -- First of the table of used memories, as others lock it first; and at the end again, since a
    -- position may have been copied there until its row in the main table was locked.
    FOREACH found IN ARRAY ARRAY[used_positions(found), found, used_positions(found)] LOOP
        BEGIN
            EXECUTE format($$
                DELETE FROM %1$I.%2$I WHERE ctid = ANY (ARRAY(
                    SELECT p.ctid FROM %1$I.%2$I p
                     WHERE ($1 IS NULL OR p.memory_id = ANY ($1))
                       AND NOT EXISTS (SELECT FROM agent_memories m
                                        WHERE m.agent_id = $2 AND m.id = p.memory_id)
                     ORDER BY uuid_hash_extended(p.memory_id, 42) FOR UPDATE)) $$, current_schema(), found)
                USING ids, agent;
            GET DIAGNOSTICS removed = ROW_COUNT;
            forgotten := forgotten + removed;
        EXCEPTION WHEN undefined_table THEN
            NULL;
        END;
    END LOOP;
    RETURN forgotten;
END
$function$;

REVOKE ALL ON FUNCTION forget_positions FROM PUBLIC;

COMMENT ON FUNCTION forget_positions IS
    'Deletes positions of deleted memories from their owner''s rank index: those of the ids, or without ids all. Returns how many. Where the owner has no memory left, the index is no longer used. For roles that may delete memories.';

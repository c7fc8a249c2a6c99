-- For writers.
-- Positions are on the node of their owner, so a query about the owner deletes them (ADR-0053).
CREATE OR REPLACE FUNCTION forget_positions(agent text, ids uuid[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    forgotten bigint;
BEGIN
    SELECT forget_positions_here(agent, ids) INTO forgotten
      FROM (SELECT count(*) FROM agent_memories m
             WHERE m.agent_id = agent AND m.id = '00000000-0000-0000-0000-000000000000') one_row;
    RETURN forgotten;
END
$function$;

COMMENT ON FUNCTION forget_positions IS
    'Deletes positions of deleted memories from the rank index of their owner: those of the ids, '
    'or all if there are no ids. Returns the number of positions. If the owner has no memory left, '
    'searches stop using the index. Roles that may delete memories may call it.';

-- A position holds the direction of an embedding, so it is deleted with its memory. The function is
-- SECURITY DEFINER, since a role may have got DELETE on memories after the build. Callers cannot
-- abuse it: it deletes only positions of memories that no longer exist, and only for callers that
-- may delete memories. It names tables with their schema, so that it never uses a temporary table
-- of the same name with triggers of the caller. The lock is the one that a build takes at its end,
-- when it removes memories that were deleted in the meantime.
CREATE OR REPLACE FUNCTION forget_positions_here(agent text, ids uuid[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $function$
DECLARE
    caller text := coalesce(nullif(current_setting('role'), 'none'), session_user);
    found text;
    gone uuid[];
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
    IF to_regclass(found) IS NULL AND is_distributed() THEN  -- left where the shard was before
        PERFORM give_up_positions(agent, found), on_every_node('drop_positions');
        RETURN 0;
    END IF;
    gone := gone_memories(agent, ids);
    -- The table of used memories comes first, as others lock it first; and again at the end, since
    -- a position may have been copied there until its row in the main table was locked.
    FOREACH found IN ARRAY ARRAY[used_positions(found), found, used_positions(found)] LOOP
        BEGIN
            IF ids IS NULL THEN
                EXECUTE format(
                    'SELECT array_agg(memory_id) FROM %I.%I', current_schema(), found) INTO gone;
                gone := gone_memories(agent, gone);
            END IF;
            forgotten := forgotten + delete_positions(found, gone);
        EXCEPTION WHEN undefined_table THEN
            NULL;
        END;
    END LOOP;
    RETURN forgotten;
END
$function$;

REVOKE ALL ON FUNCTION forget_positions_here FROM PUBLIC;

COMMENT ON FUNCTION forget_positions_here IS
    'Does the part of forget_positions that runs on the node of the owner.';

-- Positions are looked up by key, whatever PostgreSQL expects; the setting reaches nothing else.
-- Roles that may delete from this table may call it: that is forget_positions_here.
CREATE OR REPLACE FUNCTION delete_positions(relation text, ids uuid[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT SET enable_seqscan = off AS $function$
DECLARE
    deleted bigint;
BEGIN
    EXECUTE format($$
        DELETE FROM %1$I.%2$I WHERE ctid = ANY (ARRAY(
            SELECT p.ctid FROM %1$I.%2$I p WHERE p.memory_id = ANY ($1)
             ORDER BY uuid_hash_extended(p.memory_id, 42) FOR UPDATE)) $$,
        current_schema(), relation)
        USING ids;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$function$;

COMMENT ON FUNCTION delete_positions IS
    'Deletes the positions of these memories from a table of positions; returns their number.';

-- This is a query of its own, since Citus cannot join memories with the positions of one node. The
-- setting reaches nothing else. Without it, a plan made while the table was nearly empty would read
-- the whole table for each of a few ids.
CREATE OR REPLACE FUNCTION gone_memories(agent text, ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET enable_seqscan = off AS $function$
BEGIN
    RETURN ARRAY(SELECT i FROM unnest(ids) i
                 EXCEPT
                 SELECT m.id FROM agent_memories m WHERE m.agent_id = agent AND m.id = ANY (ids));
END
$function$;

COMMENT ON FUNCTION gone_memories IS
    'Returns the ids that belong to no memory of this owner.';

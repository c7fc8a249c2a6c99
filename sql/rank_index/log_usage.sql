-- For writers.
-- A position says when its memory was last used, as of the build. A move in the graph would leave a
-- dead node there and cost milliseconds. So the position of a used memory is copied, once, to a
-- second table with a small graph. The copy has the old time of use too. But every memory there was
-- used since the build, so searches of it leave out signals that depend on the time of use. On
-- Citus, positions are on the node of their owner, and so are functions that a query about the
-- owner calls.
CREATE OR REPLACE FUNCTION log_usage(agent text, ids uuid[] DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM note_use_here(agent, ids) FROM rank_indexes r WHERE r.agent_id = agent AND r.space > 0;
END
$function$;

COMMENT ON FUNCTION log_usage IS
    'Copies the positions of memories that were used since the build of their rank index to its '
    'table of used memories, unless they are there already. Without ids, it does so for all '
    'memories.';

-- The function is SECURITY DEFINER, since writers may not write positions. Callers cannot abuse it:
-- it only copies positions within an index, of memories that were used. The lock is for deletions,
-- so that no copy outlives its memory. The order is that of a hash: a graph filled in it finds
-- more, and clients that lock in one order never wait for each other in turn. A table that goes in
-- the middle belongs to an index that was replaced or dropped.
CREATE OR REPLACE FUNCTION note_use_here(agent text, ids uuid[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $function$
DECLARE
    index record;
BEGIN
    SELECT r.relation, usage_synced_until(r.as_of, r.built_at) AS since INTO index
      FROM rank_indexes r WHERE r.agent_id = agent;
    IF NOT FOUND  -- before the block below, which begins a subtransaction
       OR hnsw_state() = 'refused' THEN
        RETURN;
    END IF;
    BEGIN
        -- A use has the time at which its transaction began, maybe long before the build; on Citus
        -- by another clock.
        PERFORM copy_used_positions(
            agent, index.relation, CASE WHEN ids IS NULL THEN index.since
                ELSE least(index.since, now() - interval '1 minute') END, ids);
    EXCEPTION WHEN undefined_table THEN
        PERFORM give_up_positions(agent, index.relation);
    END;
END
$function$;

REVOKE ALL ON FUNCTION note_use_here FROM PUBLIC;

COMMENT ON FUNCTION note_use_here IS
    'Does the part of log_usage that runs on the node of the owner.';

CREATE OR REPLACE FUNCTION copy_used_positions(
    agent text, relation text, since timestamptz, ids uuid[] DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'data_exception';
    END IF;
    IF ids IS NULL THEN
        ids := ARRAY(SELECT u.memory_id FROM memory_usage u
                      WHERE u.agent_id = agent AND u.last_accessed_at > since);
    ELSE
        ids := ARRAY(SELECT u.memory_id FROM memory_usage u
                      WHERE u.agent_id = agent AND u.memory_id = ANY (ids)
                        AND u.last_accessed_at > since);
    END IF;
    EXECUTE format($$
        INSERT INTO %1$I.%2$I (memory_id, position, words, bytes)
        SELECT locked.memory_id, locked.position, '{}', locked.bytes FROM (
            SELECT p.memory_id, p.position, p.bytes FROM %1$I.%3$I p
             WHERE p.memory_id = ANY ($1)
               AND NOT EXISTS (SELECT FROM %1$I.%2$I f WHERE f.memory_id = p.memory_id)
             ORDER BY uuid_hash_extended(p.memory_id, 42) FOR KEY SHARE OF p) locked
            ON CONFLICT DO NOTHING $$, current_schema(), used_positions(relation), relation)
        USING ids;
END
$function$;

COMMENT ON FUNCTION copy_used_positions IS
    'Copies positions, without words, from the main table of a rank index to its table of used '
    'memories: of memories used since this moment, all or these.';

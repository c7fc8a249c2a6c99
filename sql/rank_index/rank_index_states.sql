CREATE OR REPLACE FUNCTION rank_space() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 2;

COMMENT ON FUNCTION rank_space IS
    'Version of the space that positions lie in: VERSION of rank_index/space.py, where it is explained.';

-- An owner without an index is listed if it has enough memories for one.
CREATE OR REPLACE FUNCTION rank_index_states(
    agent text DEFAULT NULL, at_least bigint DEFAULT 5000, of_teams boolean DEFAULT NULL,
    max_beside bigint DEFAULT 2000, max_age interval DEFAULT '28 days')
    RETURNS TABLE (
        agent_id text, due text, shrunk boolean, relation text, space integer, as_of timestamptz,
        built_at timestamptz, written_until timestamptz, memories bigint, used_at_least bigint, m integer, ef_construction integer,
        seconds float8, candidates integer, written bigint, changed bigint, used bigint, bytes bigint,
        has_words boolean)
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    beside bigint;
BEGIN
    IF is_distributed() THEN
        RETURN;  -- there are none, and none can be built
    END IF;
    FOR agent_id, relation, space, as_of, built_at, written_until, memories, used_at_least, m, ef_construction, seconds,
        candidates, has_words IN
        WITH RECURSIVE owners(id) AS (
            SELECT CASE WHEN agent IS NULL THEN (SELECT min(e.agent_id) FROM agent_memories e) ELSE agent END
            UNION ALL
            SELECT (SELECT min(e.agent_id) FROM agent_memories e WHERE e.agent_id > o.id)
              FROM owners o WHERE agent IS NULL AND o.id IS NOT NULL
        ), asked AS (
            SELECT o.id FROM owners o
             UNION SELECT r.agent_id FROM rank_indexes r WHERE agent IS NULL
        )
        SELECT a.id, r.relation, r.space, r.as_of, r.built_at, r.written_until,
               coalesce(r.memories, (SELECT count(*) FROM (
                   SELECT FROM agent_memories e WHERE e.agent_id = a.id AND e.status = 'active') active)),
               r.at_least, r.m, r.ef_construction, r.seconds, r.candidates, r.term_memories IS NOT NULL
          FROM asked a LEFT JOIN rank_indexes r ON r.agent_id = a.id
         WHERE a.id IS NOT NULL AND (of_teams IS NULL OR starts_with(a.id, 'team:') = of_teams)
         ORDER BY a.id LOOP
        shrunk := false; written := 0; changed := 0; used := 0; bytes := 0; due := NULL;
        IF relation IS NULL THEN
            CONTINUE WHEN memories < at_least;
            has_words := true;
            due := 'not built yet';
            RETURN NEXT;
            CONTINUE;
        END IF;
        SELECT count(*) < least(used_at_least, memories) / 2 INTO shrunk FROM (
            SELECT FROM agent_memories e WHERE e.agent_id = rank_index_states.agent_id AND e.status = 'active'
             LIMIT least(used_at_least, memories) / 2) few;
        SELECT count(*) INTO written FROM (
            SELECT FROM agent_memories e
             WHERE e.agent_id = rank_index_states.agent_id AND e.inserted_at >= rank_index_states.written_until
             LIMIT 10 * max_beside) few;
        SELECT count(*) INTO changed FROM (
            SELECT DISTINCT e.memory_id FROM memory_events e
             WHERE e.agent_id = rank_index_states.agent_id AND e.occurred_at >= rank_index_states.written_until
               AND e.event_type <> 'initial' LIMIT 10 * max_beside) few;
        SELECT count(*) INTO used FROM (
            SELECT FROM memory_usage u
             WHERE u.agent_id = rank_index_states.agent_id
               AND u.last_accessed_at > least(rank_index_states.as_of, rank_index_states.built_at)) every;
        bytes := (SELECT coalesce(sum(pg_total_relation_size(to_regclass(one))), 0)
                    FROM unnest(ARRAY[relation, used_positions(relation)]) one);
        beside := written + changed;
        due := CASE
            WHEN space <> rank_space() THEN 'built by another version of pgrecall, not used'
            WHEN NOT has_words THEN 'its words are those of a former language, not used'
            WHEN beside > greatest(max_beside, memories / 10)
            THEN to_char(beside, 'FM999,999,999,999') || ' memories written or changed since'
            WHEN used > greatest(max_beside, memories / 3)
            THEN to_char(used, 'FM999,999,999,999') || ' memories used since'
            WHEN now() - built_at > max_age THEN floor(date_part('epoch', now() - built_at) / 86400) || ' days old'
        END;
        RETURN NEXT;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION rank_index_states IS
    'The rank indexes, how many memories were written, changed and used since each was built, and in due why maintenance is needed; and owners with at_least or more active memories and no index. shrunk: the owner has less than half the memories that the index is for.';

-- A build creates its table and indexes in one transaction, so no other session sees the table.
CREATE OR REPLACE FUNCTION rank_index_progress() RETURNS float8
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT sum(p.blocks_done)::float8 / nullif(sum(p.blocks_total), 0)
      FROM pg_stat_progress_create_index p
     WHERE p.datname = current_database() AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = p.relid);
END;

COMMENT ON FUNCTION rank_index_progress IS
    'How much of the graphs being built is done, 0 to 1; NULL while none is being built.';

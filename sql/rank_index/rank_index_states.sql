CREATE OR REPLACE FUNCTION rank_space() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN @SPACE@;

COMMENT ON FUNCTION rank_space IS
    'Returns the version of the space in which positions lie: VERSION of rank_index/space.py, '
    'which explains it.';

CREATE OR REPLACE FUNCTION large_owners(at_least bigint) RETURNS TABLE (agent_id text)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    IF is_distributed() THEN  -- one query of all nodes
        RETURN QUERY
        SELECT m.agent_id FROM agent_memories m
         WHERE m.status = 'active' GROUP BY m.agent_id HAVING count(*) >= at_least;
        RETURN;
    END IF;
    FOR agent_id IN SELECT o.agent_id FROM owners_of_memories() o LOOP
        IF active_memories(agent_id, at_least) >= at_least THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION large_owners IS
    'Returns the owners that have at_least active memories.';

-- The result lists an owner without an index if it has enough memories for one.
CREATE OR REPLACE FUNCTION rank_index_states(
    agent text DEFAULT NULL, at_least bigint DEFAULT 5000, of_teams boolean DEFAULT NULL,
    max_beside bigint DEFAULT 2000, max_age interval DEFAULT '28 days')
    RETURNS TABLE (
        agent_id text, due text, shrunk boolean, relation text, space integer, as_of timestamptz,
        built_at timestamptz, written_until timestamptz, memories bigint, used_at_least bigint,
        m integer, ef_construction integer, seconds float8, candidates integer, written bigint,
        changed bigint, used bigint, bytes bigint, has_words boolean, candidates_alone integer,
        candidates_by_profile jsonb)
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    asked text[] := ARRAY[agent];
    few bigint;
    kept float8;
    kept_since float8;
    allowed bigint;
    outside bigint;
BEGIN
    IF agent IS NULL THEN
        asked := ARRAY(SELECT o.agent_id FROM large_owners(at_least) o)
                 || ARRAY(SELECT r.agent_id FROM rank_indexes r);
    END IF;
    FOR agent_id IN SELECT DISTINCT a.id FROM unnest(asked) a(id)
                     WHERE of_teams IS NULL OR starts_with(a.id, 'team:') = of_teams
                     ORDER BY a.id LOOP
        SELECT r.relation, r.space, r.as_of, r.built_at, r.written_until, r.memories, r.at_least,
               r.m, r.ef_construction, r.seconds, r.candidates, r.candidates_alone,
               r.candidates_by_profile, r.kept, r.kept_since, r.term_memories IS NOT NULL,
               positions_size(r.relation), placed_positions(r.relation)
          INTO relation, space, as_of, built_at, written_until, memories, used_at_least, m,
               ef_construction, seconds, candidates, candidates_alone, candidates_by_profile,
               kept, kept_since, has_words, bytes, outside
          FROM rank_indexes r WHERE r.agent_id = rank_index_states.agent_id;
        shrunk := false; written := 0; changed := 0; used := 0; due := NULL;
        IF relation IS NULL THEN
            memories := active_memories(agent_id);
            bytes := 0;
            CONTINUE WHEN memories < at_least;
            has_words := true;
            due := 'not built yet';
            RETURN NEXT;
            CONTINUE;
        END IF;
        few := least(used_at_least, memories) / 2;
        shrunk := active_memories(agent_id, few) < few;
        allowed := greatest(max_beside, memories / 50);
        SELECT cardinality(b.written), least(cardinality(b.changed), 10 * allowed)
          INTO written, changed
          FROM beside_since(rank_index_states.agent_id, written_until, 10 * allowed) b;
        used := used_since(rank_index_states.agent_id, least(as_of, built_at));
        outside := outside + written + changed;
        due := CASE
            WHEN bytes IS NULL OR space = 0 THEN 'its positions are missing, not used'
            WHEN space <> rank_space() THEN 'built by another version of pgrecall, not used'
            WHEN NOT has_words THEN 'its words are those of a former language, not used'
            WHEN hnsw_state() = 'refused'
            THEN 'pgvector ' || pgvector_version() || ' is too old for it, not used'
            WHEN outside > allowed
            THEN to_char(outside, 'FM999,999,999,999') || ' memories written or changed since'
            WHEN used > greatest(max_beside, memories / 3)
            THEN to_char(used, 'FM999,999,999,999') || ' memories used since'
            WHEN kept_since < kept - 0.1
            THEN format('its axes describe %s %% of what was written since, '
                        '%s %% of what was there',
                        round(100 * kept_since), round(100 * kept))
            WHEN now() - built_at > max_age
            THEN floor(date_part('epoch', now() - built_at) / 86400) || ' days old'
        END;
        bytes := coalesce(bytes, 0);
        RETURN NEXT;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION rank_index_states IS
    'Returns the rank indexes with the numbers of memories written, changed and used since each '
    'was built, and in due the reason why it needs maintenance; also owners with at_least or more '
    'active memories and no index. If shrunk is true, the owner has less than half the memories '
    'that the index is for.';

CREATE OR REPLACE FUNCTION positions_size(relation text) RETURNS bigint
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN pg_total_relation_size(to_regclass(relation))
           + pg_total_relation_size(to_regclass(used_positions(relation)));
END
$function$;

COMMENT ON FUNCTION positions_size IS
    'Returns the size of the tables of a rank index in bytes; NULL if they are not on this node.';

CREATE OR REPLACE FUNCTION count_positions(relation text) RETURNS bigint
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    counted bigint;
    number bigint := 0;
BEGIN
    FOREACH relation IN ARRAY ARRAY[relation, used_positions(relation)] LOOP
        CONTINUE WHEN to_regclass(relation) IS NULL;
        EXECUTE format('SELECT count(*) FROM %s', positions_table(relation)) INTO counted;
        number := number + counted;
    END LOOP;
    RETURN number;
END
$function$;

COMMENT ON FUNCTION count_positions IS
    'Returns the number of positions in the tables of a rank index on this node.';

CREATE OR REPLACE FUNCTION placed_positions(relation text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET enable_seqscan = off
AS $function$
DECLARE
    positions regclass := to_regclass(relation);
    number bigint;
BEGIN
    IF positions IS NULL OR relation !~ '^ranks_[0-9a-f]{32}$'
       OR NOT has_table_privilege(positions, 'SELECT') THEN
        RETURN 0;
    END IF;
    EXECUTE format('SELECT count(*) FROM %s WHERE placed', positions) INTO number;
    RETURN number;
END
$function$;

COMMENT ON FUNCTION placed_positions IS
    'Returns the number of memories that were placed in a rank index since its build; 0 if its '
    'table is not on this node or cannot be read.';

-- A build creates its table and indexes in one transaction, so no other session sees the table.
-- It holds the lock of make_rank_index, which names the owner.
CREATE OR REPLACE FUNCTION rank_index_progress(agent text DEFAULT NULL) RETURNS float8
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    of_builds text := 'SELECT sum(p.blocks_done)::float8 / nullif(sum(p.blocks_total), 0) '
        'FROM pg_stat_progress_create_index p '
        'WHERE p.datname = current_database() '
        'AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = p.relid)';
    share float8;
BEGIN
    IF agent IS NOT NULL THEN
        of_builds := of_builds || format(' AND EXISTS (SELECT FROM pg_locks l '
            'WHERE l.pid = p.pid AND l.locktype = ''advisory'' AND l.granted AND l.objsubid = 1 '
            'AND (l.classid::bigint << 32) + l.objid::bigint = %s)',
            hashtextextended(format('pgrecall rank index %s %s', current_schema(), agent), 0));
    END IF;
    IF is_distributed() THEN
        RETURN (SELECT avg(nullif(n.result, '')::float8)
                  FROM run_command_on_workers(of_builds) n
                 WHERE n.success);
    END IF;
    EXECUTE of_builds INTO share;
    RETURN share;
END
$function$;

COMMENT ON FUNCTION rank_index_progress IS
    'Returns the progress of builds of graphs, for one owner or for all, from 0 to 1; NULL while '
    'nothing is built.';

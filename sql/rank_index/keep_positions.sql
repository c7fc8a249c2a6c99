-- For maintainers.
-- A rank index has two tables of positions: that of its build, and a small one of memories used
-- since (see log_usage). A function that needs locks on both locks the small one first.
-- Tables of positions are partitions of rank_positions and belong to its owner, so the functions
-- that create, index, attach and drop them are SECURITY DEFINER. Callers cannot abuse them: they
-- touch only such tables, none that is in use, and return nothing about memories. A role that
-- builds an index reads the memories with its own rights. A search names the partition, not the
-- parent, so that the planner does not consider all partitions. This bypasses the grants and
-- policies of the parent, so align_positions gives each partition its own.
CREATE OR REPLACE FUNCTION positions_table(relation text) RETURNS regclass
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    found regclass := (
        SELECT c.oid FROM pg_class c JOIN pg_class parent ON parent.oid = 'rank_positions'::regclass
         WHERE c.relname = relation AND c.relnamespace = parent.relnamespace
           AND c.relowner = parent.relowner AND c.relname ~ '^ranks_[0-9a-f]{32}$');
BEGIN
    IF found IS NULL THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', left(relation, 100)
            USING ERRCODE = 'data_exception';
    END IF;
    RETURN found;
END
$function$;

COMMENT ON FUNCTION positions_table IS
    'Returns the table of positions of this name; raises data_exception if there is none.';

-- A role that may see any memory of the owner may see all its positions. The policy checks this
-- once per search; a check for each position would take several times as long. On Citus a function
-- checks it, since the policy of a table of one node cannot name distributed tables.
CREATE OR REPLACE FUNCTION create_positions(agent text) RETURNS text
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $function$
DECLARE
    main text := 'ranks_' || replace(gen_random_uuid()::text, '-', '');
    relation text;
BEGIN
    PERFORM require_owner(agent), require_hnsw();
    IF is_distributed() THEN
        PERFORM shard_here('rank_indexes', agent), require_parent();
    END IF;
    FOREACH relation IN ARRAY ARRAY[main, used_positions(main)] LOOP
        EXECUTE format(
            'CREATE TABLE %1$I.%2$I '
            '(LIKE %1$I.rank_positions INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMMENTS, '
            'CHECK (index_id = %3$L)) WITH (toast_tuple_target = 8160)',
            current_schema(), relation, substr(relation, 7));
        EXECUTE format(
            'ALTER TABLE %I ALTER index_id SET DEFAULT %L', relation, substr(relation, 7));
        EXECUTE format('COMMENT ON TABLE %I IS %L', relation, CASE relation
            WHEN main THEN 'Positions of one rank index: see rank_indexes.'
            ELSE format('Positions of %s whose memories were used since its build.', main) END);
        EXECUTE format(
            'CREATE POLICY of_their_owner ON %I USING (('
            || CASE WHEN is_distributed() THEN 'SELECT has_memories(%L)'
                    ELSE 'SELECT true FROM agent_memories WHERE agent_id = %L LIMIT 1' END
            || '))', relation, agent);
        PERFORM align_positions(relation);
    END LOOP;
    RETURN main;
END
$function$;

COMMENT ON FUNCTION create_positions IS
    'Creates the empty tables of positions of a rank index; returns the name of the main one (see '
    'used_positions).';

-- A graph needs to know how many coordinates positions have, which differs between indexes: so it
-- is of an expression, by which walks sort. Several workers share their memory, of which containers
-- often have little: then one builds alone. A memory written later has a longer position than those
-- of the build. A graph prunes the links to such late ones, so walks would not find them: they are
-- in an index of their own, which is read whole.
CREATE OR REPLACE FUNCTION index_positions(
    relation text, length integer, m integer, ef_construction integer, kilobytes bigint)
    RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path FROM CURRENT
    SET maintenance_work_mem = '64MB'
AS $function$
DECLARE
    positions regclass := positions_table(relation);
    command text;
BEGIN
    PERFORM set_config('maintenance_work_mem', kilobytes || 'kB', true);
    EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (memory_id, index_id)', positions);
    command := format($$
        CREATE INDEX %I ON %s
         USING hnsw ((position::@extschema:vector@.halfvec(%s)) @extschema:vector@.halfvec_ip_ops)
          WITH (m = %s, ef_construction = %s) WHERE NOT placed $$,
        relation || '_position', positions, length, m, ef_construction);
    BEGIN
        EXECUTE command;
    EXCEPTION WHEN insufficient_resources OR disk_full OR out_of_memory THEN
        PERFORM set_config('max_parallel_maintenance_workers', '0', true);
        EXECUTE command;
    END;
    EXECUTE format('CREATE INDEX %I ON %s USING gin (words) WITH (fastupdate = off)',
                   relation || '_words', positions);
    EXECUTE format('CREATE INDEX %I ON %s (memory_id) WHERE placed',
                   relation || '_placed', positions);
    EXECUTE format('ANALYZE %s', positions);
END
$function$;

COMMENT ON FUNCTION index_positions IS
    'Builds the graph and the other indexes of a new table of positions, with this much memory.';

-- Deletions take the same advisory lock, so none can slip between DELETE and ATTACH.
-- The parent is locked first, so waiting for another build does not make deletions wait.
CREATE OR REPLACE FUNCTION attach_positions(relation text, agent text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $function$
DECLARE
    positions regclass;
    ids uuid[];
BEGIN
    PERFORM positions_table(relation);
    IF row_security_active('agent_memories') THEN
        RAISE EXCEPTION 'the owner of the schema is subject to row-level security and cannot see '
            'which memories are gone'
            USING ERRCODE = 'insufficient_privilege',
                  HINT = 'Do not FORCE row-level security; let the application use another role.';
    ELSIF EXISTS (SELECT FROM pg_inherits WHERE inhrelid = positions_table(relation)) THEN
        RAISE EXCEPTION 'relation % is in use', relation USING ERRCODE = 'invalid_parameter_value';
    END IF;
    LOCK TABLE ONLY rank_positions IN SHARE UPDATE EXCLUSIVE MODE;
    PERFORM pg_advisory_xact_lock(hashtextextended(format(
        'pgrecall positions %s %s', current_schema(), agent), 0));
    FOREACH relation IN ARRAY ARRAY[used_positions(relation), relation] LOOP
        positions := positions_table(relation);
        EXECUTE format('SELECT array_agg(memory_id) FROM %s', positions) INTO ids;
        EXECUTE format('DELETE FROM %s p WHERE p.memory_id = ANY ($1)', positions)
            USING gone_memories(agent, ids);
        EXECUTE format('ALTER TABLE rank_positions ATTACH PARTITION %s FOR VALUES IN (%L)',
                       positions, substr(relation, 7));
    END LOOP;
END
$function$;

COMMENT ON FUNCTION attach_positions IS
    'Makes the filled and indexed tables of a rank index partitions, without the memories that '
    'were deleted in the meantime.';

-- It waits first for readers of the table, and only then locks the parent: others that attach or
-- drop a table would wait behind that lock. It lists the tables before the indexes, so that it does
-- not drop a table that a build attaches in between.
CREATE OR REPLACE FUNCTION drop_positions() RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path FROM CURRENT
    SET lock_timeout = '2s'
AS $function$
DECLARE
    there text[] := ARRAY(
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = to_regclass('rank_positions')
         ORDER BY c.relname = used_positions(c.relname) DESC);
    in_use text[] := ARRAY(SELECT positions_in_use());
    unused text;
    dropped integer := 0;
BEGIN
    FOREACH unused IN ARRAY there LOOP
        CONTINUE WHEN unused = ANY (in_use);
        BEGIN
            PERFORM set_config('lock_timeout', '2s', true);
            EXECUTE format('LOCK TABLE %I.%I IN ACCESS EXCLUSIVE MODE', current_schema(), unused);
            PERFORM set_config('lock_timeout', '500ms', true);
            LOCK TABLE ONLY rank_positions IN ACCESS EXCLUSIVE MODE;
            EXECUTE format('DROP TABLE %I.%I', current_schema(), unused);
            dropped := dropped + 1;
        EXCEPTION WHEN lock_not_available OR undefined_table THEN
            NULL;
        END;
    END LOOP;
    RETURN dropped;
END
$function$;

COMMENT ON FUNCTION drop_positions IS
    'Drops every table of positions on this node that no rank index uses; returns their number. A '
    'table that a query still reads stays until the next run.';

CREATE OR REPLACE FUNCTION drop_former_positions(agent text) RETURNS integer
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    dropped integer;
BEGIN
    SELECT drop_positions() INTO dropped
      FROM (SELECT count(*) FROM rank_indexes r WHERE r.agent_id = agent) one_row;
    RETURN dropped;
END
$function$;

COMMENT ON FUNCTION drop_former_positions IS
    'Calls drop_positions on the node of this owner.';

-- Citus copies grants of the tables that it distributes. The same roles have rank_indexes as have
-- rank_positions (see grant_access).
CREATE OR REPLACE FUNCTION align_positions(relation text DEFAULT NULL) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path FROM CURRENT
    SET lock_timeout = '2s'
AS $function$
DECLARE
    granted_like regclass := CASE WHEN is_distributed() THEN 'rank_indexes'
                                  ELSE 'rank_positions' END;
    command text;
    aligned integer := 0;
BEGIN
    FOR command IN
        WITH parent AS (
            SELECT p.oid, coalesce(p.relacl, acldefault('r', p.relowner)) AS acl,
                   m.relrowsecurity AS guarded
              FROM pg_class p, pg_class m
             WHERE p.oid = granted_like AND m.oid = 'agent_memories'::regclass
        ), child AS (
            SELECT c.oid, coalesce(c.relacl, acldefault('r', c.relowner)) AS acl,
                   c.relrowsecurity AS guarded
              FROM pg_class c, parent
             WHERE CASE WHEN align_positions.relation IS NULL
                        THEN c.oid IN (SELECT inhrelid FROM pg_inherits
                                         WHERE inhparent = to_regclass('rank_positions'))
                        ELSE c.oid = positions_table(align_positions.relation) END
        ), granted AS (
            SELECT child.oid, g.grantee, g.privilege_type, g.is_grantable
              FROM child, aclexplode(child.acl) g
        ), wanted AS (
            SELECT child.oid, g.grantee, g.privilege_type, g.is_grantable
              FROM child, parent, aclexplode(parent.acl) g
        ), changes AS (
            SELECT 1 AS turn, 'REVOKE %s ON %s FROM %s' AS what, r.*
              FROM (SELECT * FROM granted EXCEPT SELECT * FROM wanted) r
            UNION ALL
            SELECT 2, CASE WHEN is_grantable THEN 'GRANT %s ON %s TO %s WITH GRANT OPTION'
                           ELSE 'GRANT %s ON %s TO %s' END, w.*
              FROM (SELECT * FROM wanted EXCEPT SELECT * FROM granted) w)
        SELECT commands.text FROM (
            SELECT turn, format(what, privilege_type, oid::regclass, CASE grantee
                       WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END) AS text
              FROM changes
            UNION ALL
            SELECT 0, format('ALTER TABLE %s %s ROW LEVEL SECURITY', child.oid::regclass,
                             CASE WHEN parent.guarded THEN 'ENABLE' ELSE 'DISABLE' END)
              FROM child, parent WHERE child.guarded <> parent.guarded) commands
         ORDER BY commands.turn LOOP
        BEGIN
            EXECUTE command;
            aligned := aligned + 1;
        EXCEPTION WHEN lock_not_available OR undefined_table THEN
            NULL;
        END;
    END LOOP;
    RETURN aligned;
END
$function$;

COMMENT ON FUNCTION align_positions IS
    'Gives the tables of positions on this node the grants of rank_positions (on Citus: of '
    'rank_indexes), and row-level security if memories have it. Returns the number of changes. '
    'Call it after a change of grants or policies.';

-- For the owner.
-- Only pg_catalog is on the path: from signatures that Citus sends to other nodes it leaves out the
-- schemas on the path here, which is not the path there.
--
-- Citus plans a statement by the value of agent_id, so a function must not force a plan that leaves
-- values open. A function that a statement calls beside the rows reads them too, which Citus allows
-- only with citus.allow_nested_distributed_execution: always for the same owner, so on the same
-- node. And never in a parallel plan, since planning changes a setting.
CREATE OR REPLACE FUNCTION distribute(again boolean DEFAULT false)
    RETURNS TABLE (what text, name text)
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
#variable_conflict use_column
DECLARE
    ours CONSTANT oid := '@extschema@'::regnamespace;
    first CONSTANT regclass := '@extschema@.agent_memories'::regclass;
    -- The agent of the first eight may be NULL, for all owners, at which Citus would crash. The
    -- last works on two nodes.
    not_sent CONSTANT text[] := '{_begin_maintenance,_end_maintenance,_old_runs,_log_all_usage,'
                                '_delete_old_runs,rank_index_states,changes,'
                                '_maintenance_due,await_writers}';
    version text := (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'citus');
    there boolean := false;
    moved text[] := '{}';
    command text;
BEGIN
    IF version IS NOT NULL THEN
        EXECUTE 'SELECT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = $1)'
           INTO there USING first;
    END IF;
    IF again AND NOT there THEN
        RETURN;
    ELSIF version IS NULL THEN
        RAISE EXCEPTION 'this database has no Citus: install it on each node, run '
            'CREATE EXTENSION citus, and add the workers with citus_add_node'
            USING ERRCODE = 'feature_not_supported';
    ELSIF string_to_array(split_part(version, '-', 1), '.')::integer[] < '{12,1}' THEN
        RAISE EXCEPTION 'Citus % is installed, but 12.1 or newer is needed: update its packages, '
            'then run ALTER EXTENSION citus UPDATE on each node', version
            USING ERRCODE = 'feature_not_supported';
    ELSIF NOT citus_is_coordinator() THEN
        RAISE EXCEPTION 'this node is a worker: connect to the coordinator'
            USING ERRCODE = 'feature_not_supported';
    END IF;

    IF NOT there THEN
        what := 'rank index';
        FOR name IN DELETE FROM @extschema@.rank_indexes RETURNING agent_id LOOP
            RETURN NEXT;
        END LOOP;
        PERFORM @extschema@.drop_positions();
    END IF;
    -- Otherwise functions could not follow tables in one transaction.
    PERFORM set_config('citus.multi_shard_modify_mode', 'sequential', true);

    FOR what, name, command IN
        SELECT CASE WHEN t.owned THEN 'distributed table' ELSE 'reference table' END, c.relname,
               CASE WHEN t.owned
                    THEN format('SELECT create_distributed_table(%L, %L, colocate_with => %L)',
                                c.oid::regclass, 'agent_id',
                                CASE WHEN c.oid = first THEN 'none' ELSE first::text END)
                    ELSE format('SELECT create_reference_table(%L)', c.oid::regclass) END
          FROM unnest('{agent_memories,memory_usage,memory_events,memory_links,'
                      'maintenance_runs,rank_indexes,owner_vectors,entity_names,'
                      'component_reputations,output_type_defaults,tier_defaults,profiles,'
                      'embedding_model}'::text[])
               WITH ORDINALITY listed(name, place)
          JOIN pg_class c ON c.relnamespace = ours AND c.relname = listed.name
         CROSS JOIN LATERAL (SELECT listed.place <= 8 AS owned) t
         WHERE NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)
         ORDER BY listed.place LOOP
        EXECUTE command;
        moved := moved || name;
        RETURN NEXT;
    END LOOP;

    FOR what, name, command IN
        SELECT 'function', f.signature,
               CASE WHEN f.reads AND NOT f.told THEN format(
                    'ALTER FUNCTION %1$s SET citus.allow_nested_distributed_execution = on;'
                    'ALTER FUNCTION %1$s RESET plan_cache_mode;'
                    'ALTER FUNCTION %1$s PARALLEL UNSAFE;', f.signature) ELSE '' END
               || CASE WHEN f.of_owner THEN format(
                    'SELECT create_distributed_function(%L, %L, colocate_with => %L)',
                    f.signature, 'agent', first)
                  ELSE format('SELECT create_distributed_function(%L)', f.signature) END
          FROM (SELECT p.oid::regprocedure::text AS signature,
                       p.prokind = 'f' AND p.proargnames[1] = 'agent'
                           AND p.proname <> ALL (not_sent) AS of_owner,
                       l.lanname = 'plpgsql' AND p.prokind = 'f'
                       AND p.proargnames[1] IN ('agent', 'owners', 'agents')
                           AND p.proname <> 'matched' AS reads,
                       p.proparallel = 'u' AND coalesce(p.proconfig, '{}')
                           && '{citus.allow_nested_distributed_execution=on}' AS told,
                       o.objid IS NOT NULL AS there, o.distribution_argument_index = 0 AS by_owner
                  FROM pg_proc p
                  JOIN pg_language l ON l.oid = p.prolang
                  LEFT JOIN pg_dist_object o ON o.classid = 'pg_proc'::regclass AND o.objid = p.oid
                 WHERE p.pronamespace = ours) f
         WHERE NOT f.there OR f.reads AND NOT f.told OR f.of_owner AND f.by_owner IS NOT TRUE LOOP
        EXECUTE command;
        RETURN NEXT;
    END LOOP;

    -- Inlined, they would read tables that are empty here.
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION @extschema@.ranked(%s) RETURNS SETOF @extschema@._ranked '
        'LANGUAGE plpgsql STABLE AS $$BEGIN RETURN QUERY SELECT r.* FROM '
        '@extschema@._ranked_on_nodes(%s) r; END$$',
        pg_get_function_arguments('@extschema@.ranked'::regproc),
        (SELECT string_agg('$' || n, ', ') FROM generate_series(1, 11) n));
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION @extschema@.matched(%s) RETURNS %s LANGUAGE plpgsql STABLE '
        'AS $$BEGIN RAISE EXCEPTION %L USING ERRCODE = ''feature_not_supported''; END$$',
        pg_get_function_arguments('@extschema@.matched'::regproc),
        pg_get_function_result('@extschema@.matched'::regproc),
        'matched cannot read tables on several nodes: use ranked');

    -- Last, since readers wait from here on.
    FOREACH name IN ARRAY moved LOOP
        PERFORM truncate_local_data_after_distributing_table(
            format('@extschema@.%I', name)::regclass);
    END LOOP;
END
$function$;

COMMENT ON FUNCTION distribute IS
    'Distributes the tables on Citus by agent_id, and the functions by the owner that they are '
    'called for. Returns what it changed. It can be repeated. With again, it works only in a '
    'schema that is distributed already.';

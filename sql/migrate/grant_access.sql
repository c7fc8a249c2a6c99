-- For the owner.
-- The schema may also hold objects that are not pgrecall's. They are neither granted nor revoked.
CREATE OR REPLACE FUNCTION objects_of_ours()
    RETURNS TABLE (kind text, name text, identity text, level text)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN QUERY
    SELECT 'TABLE', c.relname::text, c.oid::regclass::text,
           CASE c.relname WHEN 'service_keys' THEN 'maintainer' ELSE 'reader' END FROM pg_class c
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v')
       AND (c.relname IN ('agent_memories', 'memory_usage', 'memory_events', 'memory_links',
                          'maintenance_runs', 'rank_indexes', 'rank_positions',
                          'component_reputations', 'output_type_defaults', 'tier_defaults',
                          'profiles', 'installed_sql', 'granted_roles', 'embedding_model',
                          'service_keys', 'owner_vectors', 'entity_names', 'alembic_version')
            OR c.relname ~ '^ranks_[0-9a-f]{32}$'
            OR c.relkind = 'v' AND EXISTS (
                SELECT FROM installed_sql i WHERE c.relname::text = ANY (i.objects)))
    UNION ALL
    SELECT 'ROUTINE', p.proname::text, p.oid::regprocedure::text, coalesce(i.level, 'reader')
      FROM pg_proc p
      LEFT JOIN installed_sql i ON p.proname::text = ANY (i.objects)
     WHERE p.pronamespace = current_schema()::regnamespace
       AND (i.file IS NOT NULL
            OR p.proname IN ('content_hash', 'folded', 'lexemes', 'term_key', 'term_keys',
                             'text_language', 'chosen_profile'));
END
$function$;

COMMENT ON FUNCTION objects_of_ours IS
    'Returns the tables, views and routines of pgrecall, with the lowest level that may read or '
    'call each.';

-- A writer may do all that a reader may, a maintainer all that a writer may. The level is recorded,
-- so that functions of later versions are granted too.
CREATE OR REPLACE FUNCTION grant_access(level text, role name) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    ours name := current_schema();
    levels text[] := '{reader,writer,maintainer}';
    rank integer := array_position(levels, grant_access.level);
    pgvector oid := (SELECT e.extnamespace FROM pg_extension e WHERE e.extname = 'vector');
    command text;
BEGIN
    IF rank IS NULL THEN
        RAISE EXCEPTION 'level may be reader, writer or maintainer, got %',
            left(grant_access.level, 100)
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = grant_access.role) THEN
        RAISE EXCEPTION 'there is no role %: create it first, with CREATE ROLE', grant_access.role
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF NOT has_schema_privilege(grant_access.role, pgvector, 'USAGE') THEN
        RAISE EXCEPTION 'role % may not use the schema of pgvector: let its owner run '
            'GRANT USAGE ON SCHEMA % TO %', grant_access.role, pgvector::regnamespace,
            quote_ident(grant_access.role)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM revoke_access(grant_access.role);
    FOR command IN
        SELECT format('USAGE ON SCHEMA %I', ours)
        UNION ALL
        SELECT format('SELECT ON TABLE %s', o.identity) FROM objects_of_ours() o
         WHERE o.kind = 'TABLE' AND rank >= array_position(levels, o.level)
        UNION ALL
        SELECT format('INSERT, UPDATE, DELETE ON TABLE %s', o.identity) FROM objects_of_ours() o
         WHERE o.kind = 'TABLE' AND rank >= CASE
               WHEN o.name IN ('agent_memories', 'memory_usage', 'memory_events',
                               'memory_links', 'embedding_model', 'owner_vectors',
                               'entity_names') THEN 2
               WHEN o.name IN ('maintenance_runs', 'rank_indexes', 'rank_positions',
                               'component_reputations', 'output_type_defaults', 'tier_defaults')
               THEN 3 ELSE 4 END
        UNION ALL
        SELECT format('EXECUTE ON ROUTINE %s', o.identity) FROM objects_of_ours() o
         WHERE o.kind = 'ROUTINE' AND rank >= coalesce(array_position(levels, o.level), 4) LOOP
        EXECUTE format('GRANT %s TO %I', command, grant_access.role);
    END LOOP;
    INSERT INTO granted_roles (role, level) VALUES (grant_access.role, grant_access.level);
END
$function$;

COMMENT ON FUNCTION grant_access IS
    'Gives a role one level in place of the one it had: reader, writer (may also read) or '
    'maintainer (may also write).';

CREATE OR REPLACE FUNCTION revoke_access(role name) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    command text;
    was_noted boolean;
BEGIN
    IF role IN (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace n
                 WHERE n.nspname = current_schema()) THEN
        RAISE EXCEPTION 'role % owns the schema %: it may do everything, and nothing is granted to '
            'it or taken from it', revoke_access.role, current_schema()
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    DELETE FROM granted_roles g WHERE g.role = revoke_access.role;
    was_noted := FOUND;
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = revoke_access.role) THEN
        IF NOT was_noted THEN
            RAISE EXCEPTION 'there is no role %, and no level is recorded for it',
                revoke_access.role
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
        RAISE NOTICE 'role % no longer exists: removed the record of its level', revoke_access.role;
        RETURN;
    END IF;
    FOR command IN
        SELECT format('%s %s', o.kind, string_agg(o.identity, ', '))
          FROM objects_of_ours() o
         GROUP BY o.kind
        UNION ALL
        SELECT format('SCHEMA %I', current_schema()) LOOP
        EXECUTE format('REVOKE ALL ON %s FROM %I', command, revoke_access.role);
    END LOOP;
END
$function$;

COMMENT ON FUNCTION revoke_access IS
    'Revokes all privileges that a role has on objects of pgrecall. If the role no longer exists, '
    'removes the record of its level.';

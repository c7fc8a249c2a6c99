-- For the owner.
-- These functions apply the files of the folder sql: first this file, then every file whose text
-- has changed, each after the files it depends on.

-- It drops functions and views of pgrecall, and those of pgrecall that depend on them. Their files
-- are then applied again and their grants restored. If an object of somebody else depends on them,
-- the error names it and nothing is dropped.
CREATE OR REPLACE FUNCTION drop_objects(names text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    gone record;
    command text;
    commands text[];
BEGIN
    FOR gone IN
        WITH RECURSIVE found(class, id) AS (
            SELECT 'pg_proc'::regclass, p.oid FROM pg_proc p
             WHERE p.pronamespace = current_schema()::regnamespace AND p.proname = ANY (names)
            UNION
            SELECT 'pg_class'::regclass, c.oid FROM pg_class c
             WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'v'
               AND c.relname = ANY (names)
            UNION
            SELECT coalesce(viewed.class, d.classid::regclass), coalesce(viewed.id, d.objid)
              FROM found f
              LEFT JOIN pg_type t ON f.class = 'pg_class'::regclass AND t.typrelid = f.id
              JOIN pg_depend d ON d.refclassid = f.class AND d.refobjid = f.id
                    OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray)
              LEFT JOIN LATERAL (
                  SELECT 'pg_class'::regclass AS class, r.ev_class AS id FROM pg_rewrite r
                   WHERE d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid) viewed ON true
             WHERE d.deptype IN ('n', 'a'))
        SELECT pg_describe_object(f.class, f.id, 0) AS description, i.file,
               CASE WHEN c.oid IS NULL THEN 'ROUTINE' ELSE 'VIEW' END AS kind,
               coalesce(p.oid::regprocedure::text, c.oid::regclass::text) AS identity,
               ARRAY(SELECT format('GRANT %s ON %s %I TO %s%s', g.privilege_type,
                                   CASE WHEN c.oid IS NULL THEN 'ROUTINE' ELSE 'TABLE' END,
                                   coalesce(p.proname, c.relname),
                                   CASE g.grantee WHEN 0 THEN 'PUBLIC'
                                        ELSE quote_ident(pg_get_userbyid(g.grantee)) END,
                                   CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
                       FROM aclexplode(coalesce(p.proacl, c.relacl)) g
                      WHERE g.grantee <> coalesce(p.proowner, c.relowner)) AS grants
          FROM found f
          LEFT JOIN pg_proc p ON f.class = 'pg_proc'::regclass AND p.oid = f.id
          LEFT JOIN pg_class c ON f.class = 'pg_class'::regclass AND c.oid = f.id
          LEFT JOIN installed_sql i ON coalesce(p.proname, c.relname)::text = ANY (i.objects)
                AND coalesce(p.pronamespace, c.relnamespace) = current_schema()::regnamespace
    LOOP
        IF gone.file IS NULL THEN
            RAISE EXCEPTION '% depends on what must be dropped (%): drop it, migrate again, and '
                'create it again', gone.description, array_to_string(names, ', ')
                USING ERRCODE = 'dependent_objects_still_exist';
        END IF;
        UPDATE installed_sql i
           SET hash = NULL, grants = i.grants || gone.grants
         WHERE i.file = gone.file;
        commands := commands || format('DROP %s IF EXISTS %s CASCADE', gone.kind, gone.identity);
    END LOOP;
    FOREACH command IN ARRAY coalesce(commands, '{}') LOOP
        EXECUTE command;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION drop_objects IS
    'Drops functions and views of pgrecall by name, with the objects of pgrecall that depend on '
    'them, so that they can be created again.';

-- Grants stay, since a function is replaced where possible. It is dropped first only if its
-- signature has changed: CREATE OR REPLACE would fail, or create a second function beside the old
-- one.
CREATE OR REPLACE FUNCTION replace_objects(
    file text, level text, names text[], hash text, definition text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    ours oid := current_schema()::regnamespace;
    levels text[] := '{reader,writer,maintainer}';
    before oid[];
    created record;
    command text;
BEGIN
    IF EXISTS (SELECT FROM installed_sql i
                WHERE i.file = replace_objects.file AND i.hash = replace_objects.hash
                  AND i.level = replace_objects.level)
       AND NOT EXISTS (SELECT FROM unnest(names) name
                        WHERE NOT EXISTS (SELECT FROM pg_proc p
                                           WHERE p.pronamespace = ours AND p.proname = name)
                          AND NOT EXISTS (SELECT FROM pg_class c
                                           WHERE c.relnamespace = ours AND c.relname = name)) THEN
        RETURN false;
    END IF;
    before := ARRAY(SELECT p.oid FROM pg_proc p
                     WHERE p.pronamespace = ours AND p.proname = ANY (names));
    BEGIN
        EXECUTE definition;
        IF EXISTS (SELECT FROM pg_proc p JOIN pg_proc old USING (proname, pronamespace)
                    WHERE p.pronamespace = ours AND p.oid <> ALL (before)
                      AND old.oid = ANY (before)) THEN
            RAISE ambiguous_function;
        END IF;
    EXCEPTION WHEN invalid_function_definition OR invalid_table_definition OR wrong_object_type
                OR ambiguous_function THEN
        PERFORM drop_objects(names);
        EXECUTE definition;
    END;
    -- What the file no longer creates is dropped in the end, with the objects of files that no
    -- longer exist: others that are still to be applied may depend on it.
    INSERT INTO installed_sql AS i (file, level, objects)
    SELECT 'gone/' || o.file, o.level, ARRAY(SELECT unnest(o.objects) EXCEPT SELECT unnest(names))
      FROM installed_sql o
     WHERE o.file = replace_objects.file AND NOT o.objects <@ names
        ON CONFLICT (file) DO UPDATE SET objects = i.objects || excluded.objects;
    INSERT INTO installed_sql AS i (file, level, objects, hash)
    VALUES (file, level, names, hash)
        ON CONFLICT (file) DO UPDATE
       SET level = excluded.level, objects = excluded.objects, hash = excluded.hash;
    -- An object without a list of grants is new.
    FOR created IN
        SELECT 'EXECUTE' AS privilege, 'ROUTINE ' || p.oid::regprocedure AS object FROM pg_proc p
         WHERE p.pronamespace = ours AND p.proname = ANY (names) AND p.proacl IS NULL
        UNION ALL
        SELECT 'SELECT', 'TABLE ' || c.oid::regclass FROM pg_class c
         WHERE c.relnamespace = ours AND c.relname = ANY (names) AND c.relacl IS NULL LOOP
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', created.object);
        FOR command IN
            SELECT format('GRANT %s ON %s TO %I', created.privilege, created.object, r.rolname)
              FROM granted_roles g JOIN pg_roles r ON r.rolname = g.role
             WHERE array_position(levels, replace_objects.level)
                   <= array_position(levels, g.level) LOOP
            EXECUTE command;
        END LOOP;
    END LOOP;
    FOR command IN
        SELECT granted FROM installed_sql i, unnest(i.grants) granted
         WHERE i.file = replace_objects.file LOOP
        EXECUTE command;
    END LOOP;
    UPDATE installed_sql i SET grants = '{}' WHERE i.file = replace_objects.file;
    RETURN true;
END
$function$;

COMMENT ON FUNCTION replace_objects IS
    'Applies a file of functions or views unless it has been applied already; returns true if it '
    'was applied now.';

CREATE OR REPLACE FUNCTION drop_other_objects(files text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    gone text[] := ARRAY(
        SELECT name FROM installed_sql i, unnest(i.objects) name WHERE i.file <> ALL (files)
        EXCEPT
        SELECT name FROM installed_sql i, unnest(i.objects) name WHERE i.file = ANY (files));
BEGIN
    IF (_profiles() -> default_profile()) IS NULL THEN
        RAISE EXCEPTION 'the default profile % is no longer among the installed ones: install it '
            'again, or choose another one with `pgrecall profiles default`',
            quote_literal(default_profile())
            USING ERRCODE = 'PM007';
    END IF;
    PERFORM drop_objects(gone);
    DELETE FROM installed_sql i WHERE i.file <> ALL (files);
END
$function$;

COMMENT ON FUNCTION drop_other_objects IS
    'Drops the functions and views that no file creates any more.';

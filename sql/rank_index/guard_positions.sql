-- A table of positions tells the directions of embeddings: who sees a memory may see its position,
-- and nobody else. Policies on memories are not copied but asked, so that a change of theirs counts
-- here too; whether there are any at all is looked at when an index is built.
CREATE FUNCTION guard_positions(relation text, agent text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $function$
DECLARE
    owner name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class c
                    WHERE c.oid = 'agent_memories'::regclass);
    privilege text;
    role text;
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', left(relation, 100)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR role, privilege IN
        SELECT DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC'
                        ELSE quote_ident(pg_get_userbyid(g.grantee)) END, g.privilege_type
          FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) g
         WHERE c.oid = 'agent_memories'::regclass
           AND g.privilege_type IN ('SELECT', 'DELETE') LOOP
        IF privilege = 'DELETE' THEN
            CONTINUE WHEN NOT pg_has_role(owner, 'USAGE') OR role = quote_ident(owner);
            EXECUTE format('GRANT EXECUTE ON FUNCTION forget_positions TO %s', role);
        ELSIF role <> quote_ident(current_user) THEN
            EXECUTE format('GRANT SELECT ON %I TO %s', relation, role);
        END IF;
    END LOOP;
    IF owner <> current_user THEN
        EXECUTE format('GRANT SELECT, DELETE ON %I TO %I', relation, owner);
    END IF;
    IF (SELECT c.relrowsecurity FROM pg_class c
         WHERE c.oid = 'agent_memories'::regclass) THEN
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', relation);
        EXECUTE format('CREATE POLICY of_their_memories ON %I FOR SELECT USING (EXISTS ('
                       'SELECT FROM agent_memories m WHERE m.agent_id = %L AND m.id = memory_id))',
                       relation, agent);
        IF owner <> current_user THEN
            EXECUTE format('CREATE POLICY of_the_owner ON %I TO %I USING (true)', relation, owner);
        END IF;
    END IF;
END
$function$;

COMMENT ON FUNCTION guard_positions IS
    'Gives a new table of positions the grants and the row-level security of the memories it is made from, and lets those who may delete memories call forget_positions.';

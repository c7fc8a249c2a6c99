-- For the owner.
-- The profile is stored as a function, as the text language is: only the owner can change it, and
-- it is in dumps and clones, and on each node of Citus. A setting of the database would take a
-- superuser.
CREATE OR REPLACE FUNCTION set_default_profile(name text) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    IF name IS NOT NULL THEN
        PERFORM profile_facts(name);
    END IF;
    EXECUTE format('CREATE OR REPLACE FUNCTION chosen_profile() RETURNS text LANGUAGE sql '
                   'STABLE PARALLEL SAFE RETURN %L::text', name);
    PERFORM distribute(again => true);
END
$function$;

COMMENT ON FUNCTION set_default_profile IS
    'Makes a profile, built in or installed, the profile of every call that names none. NULL goes '
    'back to hybrid. Raises PM007 for an unknown name.';

-- For the owner.
-- Kept as a function, as the accepted version of pgvector is: only the owner can change it, and it is
-- in dumps and clones, and on each node of Citus.
CREATE OR REPLACE FUNCTION set_default_profile(name text) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    IF name IS NOT NULL THEN
        PERFORM facts_of(name);
    END IF;
    EXECUTE format('CREATE OR REPLACE FUNCTION chosen_profile() RETURNS text LANGUAGE sql '
                   'IMMUTABLE PARALLEL SAFE RETURN %L::text', name);
    REVOKE ALL ON FUNCTION chosen_profile() FROM PUBLIC;
    COMMENT ON FUNCTION chosen_profile() IS 'The profile set by set_default_profile.';
    PERFORM distribute(again => true);
END
$function$;

COMMENT ON FUNCTION set_default_profile IS
    'Makes a profile, built in or installed, the one of each call that names none; raises PM007 for another name. NULL goes back to hybrid.';

-- For the owner.
CREATE OR REPLACE FUNCTION set_default_profile(name text) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    IF name IS NOT NULL THEN
        PERFORM profile_info(name);
    END IF;
    PERFORM keep_setting('chosen_profile', name, 'The profile that set_default_profile has set.');
END
$function$;

COMMENT ON FUNCTION set_default_profile IS
    'Makes a profile, built in or installed, the profile of every call that names none. NULL goes '
    'back to hybrid. Raises PM007 for an unknown name.';

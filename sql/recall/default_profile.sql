-- SECURITY DEFINER, since only the owner may call chosen_profile, which set_default_profile
-- creates.
CREATE OR REPLACE FUNCTION default_profile(otherwise text DEFAULT 'hybrid') RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
    SET search_path FROM CURRENT AS $function$
DECLARE
    chosen text;
BEGIN
    IF to_regprocedure('chosen_profile()') IS NOT NULL THEN
        EXECUTE 'SELECT chosen_profile()' INTO chosen;
    END IF;
    RETURN coalesce(chosen, otherwise);
END
$function$;

COMMENT ON FUNCTION default_profile IS
    'The profile of each call that names none, from psql and from programs. otherwise: returned '
    'where set_default_profile has set none.';

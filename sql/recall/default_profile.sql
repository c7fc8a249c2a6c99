-- chosen_profile is not IMMUTABLE: its value would stay in prepared statements.
CREATE OR REPLACE FUNCTION default_profile(otherwise text DEFAULT 'hybrid') RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(chosen_profile(), otherwise);

COMMENT ON FUNCTION default_profile IS
    'The profile of each call that names none, from psql and from programs. otherwise: returned '
    'where set_default_profile has set none.';

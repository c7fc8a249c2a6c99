CREATE OR REPLACE FUNCTION oldest_client() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN '0001'::text;

COMMENT ON FUNCTION oldest_client IS
    'Returns the oldest revision whose clients work with this schema. A revision with which they '
    'cannot work changes this number.';

CREATE OR REPLACE FUNCTION used_positions(relation text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN overlay(relation PLACING '8' FROM 19 FOR 1);

COMMENT ON FUNCTION used_positions IS
    'The table of memories used since the build, for the main table of a rank index: its name is a UUID too, of version 8 instead of 4.';

CREATE OR REPLACE FUNCTION used_positions(relation text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN overlay(relation PLACING '8' FROM 19 FOR 1);

COMMENT ON FUNCTION used_positions IS
    'Returns the name of the table of used memories that belongs to the main table of a rank '
    'index: a UUID too, of version 8 instead of 4.';

-- For readers.
-- A UUID of version 8: the first half of a SHA-256. The same as `pgrecall.ids.id_of_key`.
CREATE OR REPLACE FUNCTION id_of_key(agent text, key text) RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN encode(set_bit(set_bit(set_bit(set_bit(set_bit(set_bit(
        substring(sha256(convert_to('pgrecall key ' || agent || E'\n' || key, 'UTF8')) FOR 16),
        55, 1), 54, 0), 53, 0), 52, 0), 71, 1), 70, 0), 'hex')::uuid;

COMMENT ON FUNCTION id_of_key IS
    'Returns the id that belongs to a caller''s key: the same key of the same owner gives the same '
    'id.';

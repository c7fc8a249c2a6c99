-- PostgreSQL 16 has no uuidv7(): 48 bits of the clock in milliseconds, version 7, the rest random.
CREATE OR REPLACE FUNCTION event_id() RETURNS uuid
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN encode(set_bit(set_bit(overlay(
        uuid_send(gen_random_uuid()) PLACING substring(
            int8send(floor(date_part('epoch', clock_timestamp()) * 1000::float8)::bigint) FROM 3)
        FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid;

COMMENT ON FUNCTION event_id() IS
    'Returns a new id made by the server: a UUID of version 7, so that later ids sort later.';

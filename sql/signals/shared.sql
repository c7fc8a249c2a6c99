CREATE OR REPLACE FUNCTION shared(entities text[], query text[]) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT count(*) FROM unnest(query) q WHERE q = ANY (entities));

COMMENT ON FUNCTION shared IS 'Returns how many entities of a query, each once, a memory has.';

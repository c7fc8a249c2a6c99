CREATE OR REPLACE FUNCTION meaning(query @extschema:vector@.halfvec)
    RETURNS @extschema:vector@.halfvec
    LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    length integer := (SELECT atttypmod FROM pg_attribute
                        WHERE attrelid = to_regclass('agent_memories') AND attname = 'embedding');
BEGIN
    RETURN @extschema:vector@.subvector(query, 1, length)
           OPERATOR(@extschema:vector@.||) array_fill(
               0::real, ARRAY[@extschema:vector@.vector_dims(query) - length]
           )::@extschema:vector@.halfvec;
END
$function$;

COMMENT ON FUNCTION meaning IS
    'Returns the part of a query direction that concerns embeddings. All other coordinates are 0.';

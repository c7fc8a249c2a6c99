CREATE FUNCTION meaning(query halfvec) RETURNS halfvec
    LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path FROM CURRENT
AS $function$
DECLARE
    length integer := (SELECT atttypmod FROM pg_attribute
                        WHERE attrelid = to_regclass('agent_memories') AND attname = 'embedding');
BEGIN
    RETURN subvector(query, 1, length)
           || array_fill(0::real, ARRAY[vector_dims(query) - length])::halfvec;
END
$function$;

COMMENT ON FUNCTION meaning IS
    'What a query in the rank space asks of embeddings, without what it asks of other signals.';

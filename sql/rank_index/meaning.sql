CREATE OR REPLACE FUNCTION meaning(query @extschema:vector@.halfvec)
    RETURNS @extschema:vector@.halfvec
    LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN @extschema:vector@.subvector(
               query, 1, @extschema:vector@.vector_dims(query) - @SIGNAL_AXES@)
           OPERATOR(@extschema:vector@.||)
           array_fill(0::real, ARRAY[@SIGNAL_AXES@])::@extschema:vector@.halfvec;
END
$function$;

COMMENT ON FUNCTION meaning IS
    'Returns the part of a query direction that concerns embeddings. All other coordinates are 0.';

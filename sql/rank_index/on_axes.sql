-- The last coordinate is the length of what the axes leave out, a little longer: in half precision,
-- the axes are not quite orthonormal. The product of two such lengths is the most that the rest can
-- add to an inner product. A search counts a part of it: without it, memories that the axes
-- describe badly would be found too rarely. An index without axes has whole embeddings.
CREATE OR REPLACE FUNCTION on_axes(
    axes @extschema:vector@.halfvec[], meaning @extschema:vector@.vector, rest float8 DEFAULT 1)
    RETURNS @extschema:vector@.vector
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    length float8 := @extschema:vector@.vector_norm(meaning);
    along @extschema:vector@.vector := meaning;
    left_out float8 := 0;
BEGIN
    IF axes <> '{}' THEN
        along := ARRAY(
            SELECT -(axis OPERATOR(@extschema:vector@.<#>) meaning::@extschema:vector@.halfvec)
              FROM unnest(axes) axis)::real[]::@extschema:vector@.vector;
        left_out := greatest(length ^ 2 - @extschema:vector@.vector_norm(along) ^ 2, 0)
                    + 0.001 * length ^ 2;
    END IF;
    RETURN along OPERATOR(@extschema:vector@.||)
           ARRAY[rest * sqrt(left_out)]::real[]::@extschema:vector@.vector;
END
$function$;

COMMENT ON FUNCTION on_axes IS
    'Returns the coordinates of a vector on the axes of a rank index, and a share of the length of '
    'the rest.';

CREATE OR REPLACE FUNCTION short_direction(
    axes @extschema:vector@.halfvec[], direction text)
    RETURNS @extschema:vector@.halfvec
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    query @extschema:vector@.vector := direction;
    length integer := @extschema:vector@.vector_dims(query);
BEGIN
    RETURN (on_axes(axes, @extschema:vector@.subvector(query, 1, length - @SIGNAL_AXES@), @REST@)
            OPERATOR(@extschema:vector@.||)
            @extschema:vector@.subvector(query, length - @SIGNAL_AXES@ + 1, @SIGNAL_AXES@)
           )::@extschema:vector@.halfvec;
END
$function$;

COMMENT ON FUNCTION short_direction IS
    'Returns the direction of a query as the positions of a rank index with these axes compare '
    'with it: its meaning on the axes, and its coordinates for signals.';

CREATE OR REPLACE FUNCTION kept_on_axes(
    agent text, axes @extschema:vector@.halfvec[], ids uuid[] DEFAULT NULL) RETURNS float8
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN (
        SELECT avg(@extschema:vector@.vector_norm(on_axes(axes, @extschema:vector@.l2_normalize(
                       m.embedding)::@extschema:vector@.vector, 0)) ^ 2)
          FROM (SELECT s.embedding FROM agent_memories s
                 WHERE s.agent_id = agent AND s.status = 'active' AND s.embedding IS NOT NULL
                   AND (ids IS NULL OR s.id = ANY (ids))
                 ORDER BY uuid_hash_extended(s.id, 45) LIMIT 500) m);
END
$function$;

COMMENT ON FUNCTION kept_on_axes IS
    'Returns how much of embeddings the axes of a rank index describe, 0 to 1: the mean of squared '
    'lengths, by a sample of these memories or of all. NULL if none has an embedding.';

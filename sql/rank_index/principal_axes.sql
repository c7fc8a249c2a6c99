-- Most of what tells embeddings apart lies in few directions. A rank index has the coordinates of
-- its memories on these alone, so that its graph compares short positions. They are found by
-- subspace iteration: each turn multiplies all axes by the sample and its transpose, and then makes
-- them orthonormal (Golub and Van Loan, Matrix Computations, section 8.2.4). Few turns do, since it
-- does not matter which axes span the subspace.
CREATE OR REPLACE FUNCTION principal_axes(agent text) RETURNS @extschema:vector@.halfvec[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    dimensions integer := (SELECT a.atttypmod FROM pg_attribute a
                            WHERE a.attrelid = 'agent_memories'::regclass
                              AND a.attname = 'embedding');
    number integer := least(dimensions, @MEANING_AXES@);
    sample @extschema:vector@.vector[] := ARRAY(
        SELECT @extschema:vector@.l2_normalize(m.embedding)::@extschema:vector@.vector
          FROM agent_memories m
         WHERE m.agent_id = agent AND m.status = 'active' AND m.embedding IS NOT NULL
         ORDER BY uuid_hash_extended(m.id, 44) LIMIT 2000);
    transposed @extschema:vector@.vector[] := ARRAY(
        SELECT array_agg(c.value ORDER BY s.place)::@extschema:vector@.vector
          FROM unnest(sample) WITH ORDINALITY s(one, place),
               unnest(s.one::real[]) WITH ORDINALITY c(value, dimension)
         GROUP BY c.dimension ORDER BY c.dimension);
    axes @extschema:vector@.vector[] := orthonormal(sample[:number]);
BEGIN
    FOR turn IN 1 .. 3 LOOP
        axes := orthonormal(ARRAY(
            SELECT products(transposed, products(sample, a.axis)) FROM unnest(axes) a(axis)));
    END LOOP;
    RETURN (axes || array_fill(
        array_fill(0::real, ARRAY[dimensions])::@extschema:vector@.vector,
        ARRAY[number - cardinality(axes)]))::@extschema:vector@.halfvec[];
END
$function$;

COMMENT ON FUNCTION principal_axes IS
    'Returns the @MEANING_AXES@ directions, or as many as embeddings have dimensions, that the '
    'embeddings of an owner differ most along, by a sample that is the same each time. They are '
    'orthonormal; those beyond the number of memories are zero.';

CREATE OR REPLACE FUNCTION products(
    several @extschema:vector@.vector[], one @extschema:vector@.vector)
    RETURNS @extschema:vector@.vector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN ARRAY(SELECT -(each OPERATOR(@extschema:vector@.<#>) one)
                   FROM unnest(several) each)::@extschema:vector@.vector;
END
$function$;

COMMENT ON FUNCTION products IS
    'Returns the inner products of several vectors with one, in their order.';

-- By Gram and Schmidt, twice for each direction, since once leaves rounding errors. What then loses
-- half of its length was nothing but such errors.
CREATE OR REPLACE FUNCTION orthonormal(directions @extschema:vector@.vector[])
    RETURNS @extschema:vector@.vector[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    made @extschema:vector@.vector[] := '{}';
    direction @extschema:vector@.vector;
    least float8;
BEGIN
    FOREACH direction IN ARRAY directions LOOP
        FOREACH least IN ARRAY '{0,0.5}'::float8[] LOOP
            direction := coalesce((
                SELECT direction OPERATOR(@extschema:vector@.-) @extschema:vector@.sum(
                           axis OPERATOR(@extschema:vector@.*) array_fill(
                               (-(axis OPERATOR(@extschema:vector@.<#>) direction))::real,
                               ARRAY[@extschema:vector@.vector_dims(axis)]
                           )::@extschema:vector@.vector)
                  FROM unnest(made) axis), direction);
            direction := CASE WHEN @extschema:vector@.vector_norm(direction) < least
                              THEN direction OPERATOR(@extschema:vector@.-) direction
                              ELSE @extschema:vector@.l2_normalize(direction) END;
        END LOOP;
        made := made || direction;
    END LOOP;
    RETURN made;
END
$function$;

COMMENT ON FUNCTION orthonormal IS
    'Returns orthonormal vectors that span what these directions span, as many as they are; zero '
    'for each that the others before it span.';

-- Most of what tells embeddings apart lies in few directions. A rank index has the coordinates of
-- its memories on these alone, so that its graph compares short positions. They are found by
-- subspace iteration: each turn multiplies all axes by the sample and its transpose, and then makes
-- them orthonormal (Golub and Van Loan, Matrix Computations, section 8.2.4). The first axes are
-- those that as few axes alone would be, so their number is chosen last, by memories that did not
-- take part. Where many do not suffice, short positions are no faster to walk: a search would need
-- three or more times as many candidates.
CREATE OR REPLACE FUNCTION principal_axes(
    agent text, step integer DEFAULT @AXES_STEP@,
    OUT axes @extschema:vector@.halfvec[], OUT kept float8)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    most integer := least(embedding_dimensions() / 2, @MOST_AXES@);
    drawn @extschema:vector@.vector[];
    sample @extschema:vector@.vector[];
    others @extschema:vector@.vector[];
    transposed @extschema:vector@.vector[];
    found @extschema:vector@.vector[];
    number integer;
BEGIN
    axes := '{}';
    kept := 1;
    IF most < step THEN
        RETURN;
    END IF;
    -- INTO: the target of an assignment is a parameter, whose type Citus cannot tell.
    SELECT ARRAY(
        SELECT @extschema:vector@.l2_normalize(m.embedding)::@extschema:vector@.vector
          FROM agent_memories m
         WHERE m.agent_id = agent AND m.status = 'active' AND m.embedding IS NOT NULL
         ORDER BY uuid_hash_extended(m.id, 44) LIMIT 2500) INTO drawn;
    sample := drawn[:2000];
    others := coalesce(nullif(drawn[2001:], '{}'), drawn);
    transposed := ARRAY(
        SELECT array_agg(c.value ORDER BY s.place)::@extschema:vector@.vector
          FROM unnest(sample) WITH ORDINALITY s(one, place),
               unnest(s.one::real[]) WITH ORDINALITY c(value, dimension)
         GROUP BY c.dimension ORDER BY c.dimension);
    found := orthonormal(sample[:most]);
    FOR turn IN 1 .. 3 LOOP
        found := orthonormal(products(transposed, products(sample, found)));
    END LOOP;
    SELECT a.place, a.share INTO number, kept
      FROM (SELECT place, sum(-(along OPERATOR(@extschema:vector@.<#>) along))
                          OVER (ORDER BY place) / cardinality(others) AS share
              FROM unnest(products(others, found)) WITH ORDINALITY o(along, place)) a
     WHERE a.share >= @KEPT@ AND a.place % step = 0
     ORDER BY a.place LIMIT 1;
    kept := coalesce(kept, 1);
    axes := coalesce(found[:number], '{}')::@extschema:vector@.halfvec[];
END
$function$;

COMMENT ON FUNCTION principal_axes IS
    'Returns the directions that the embeddings of an owner differ most along, by a sample that is '
    'the same each time, and which share of embeddings they describe: step after step until they '
    'describe @KEPT@, at most @MOST_AXES@ and half as many as there are dimensions; none if so '
    'many do not. They are orthonormal.';

CREATE OR REPLACE FUNCTION products(
    several @extschema:vector@.vector[], others @extschema:vector@.vector[])
    RETURNS @extschema:vector@.vector[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT
    SET work_mem = '64MB'
AS $function$
BEGIN
    RETURN ARRAY(
        SELECT along.one
          FROM unnest(others) WITH ORDINALITY o(other, place)
         CROSS JOIN LATERAL (
            SELECT array_agg(-(s.one OPERATOR(@extschema:vector@.<#>) o.other) ORDER BY s.place)
                   ::@extschema:vector@.vector AS one
              FROM unnest(several) WITH ORDINALITY s(one, place)) along
         ORDER BY o.place);
END
$function$;

COMMENT ON FUNCTION products IS
    'Returns the inner products with several vectors, in their order, of each of the others.';

-- By Gram and Schmidt, twice for each direction, since once leaves rounding errors. What then loses
-- half of its length was nothing but such errors. Adding a little and taking it away again makes
-- coordinates below 1e-10 zero: pgvector raises an error where a product of them underflows.
CREATE OR REPLACE FUNCTION orthonormal(directions @extschema:vector@.vector[])
    RETURNS @extschema:vector@.vector[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    made @extschema:vector@.vector[] := '{}';
    direction @extschema:vector@.vector;
    least float8;
    little @extschema:vector@.vector;
BEGIN
    FOREACH direction IN ARRAY directions LOOP
        little := array_fill(0.001::real, ARRAY[@extschema:vector@.vector_dims(direction)]);
        direction := direction OPERATOR(@extschema:vector@.+) little
                     OPERATOR(@extschema:vector@.-) little;
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
                              ELSE @extschema:vector@.l2_normalize(direction) END
                         OPERATOR(@extschema:vector@.+) little
                         OPERATOR(@extschema:vector@.-) little;
        END LOOP;
        made := made || direction;
    END LOOP;
    RETURN made;
END
$function$;

COMMENT ON FUNCTION orthonormal IS
    'Returns orthonormal vectors that span what these directions span, as many as they are; zero '
    'for each that the others before it span.';

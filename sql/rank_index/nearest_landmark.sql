-- Landmarks are the first positions of the table. The build fills it in the order of a hash, so
-- they are a sample of all. The query is max(-…), since the planner would answer min(…) from
-- the graph.
CREATE OR REPLACE FUNCTION nearest_landmark(relation text, meaning @extschema:vector@.halfvec)
    RETURNS float8
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
    SET enable_tidscan = on
AS $function$
DECLARE
    landmarks tid := (
        SELECT format('(%s,0)', ceil(
                   pg_relation_size(oid) / current_setting('block_size')::float8
                   * least(2000 / greatest(reltuples, 1), 0.04)))
          FROM pg_class WHERE oid = to_regclass(relation));
    largest float8;
BEGIN
    EXECUTE format($$
        SELECT max(-(position OPERATOR(@extschema:vector@.<#>) $1)) FROM %I WHERE ctid < $2 $$,
        relation)
        INTO largest USING meaning, landmarks;
    RETURN nullif(greatest(largest, 0), 0);
END
$function$;

COMMENT ON FUNCTION nearest_landmark IS
    'Returns the largest inner product of a meaning with a landmark of a rank index; NULL if none '
    'is positive. Landmarks are at most about 2000 of its positions.';

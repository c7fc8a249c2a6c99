-- Inlined into the statements of searches that have few comparisons.
CREATE OR REPLACE FUNCTION meets_comparison(
    found jsonb, operator text, asked jsonb, among jsonb[] DEFAULT NULL) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE operator
        WHEN '$eq' THEN coalesce(found = asked, false)
        WHEN '$ne' THEN coalesce(found <> asked, true)
        WHEN '$exists' THEN (found IS NOT NULL) = asked::boolean
        WHEN '$in' THEN coalesce(found = ANY (among), false)
        WHEN '$nin' THEN coalesce(found <> ALL (among), true)
        ELSE coalesce(jsonb_typeof(found) = jsonb_typeof(asked), false) AND CASE operator
            WHEN '$gt' THEN found > asked
            WHEN '$gte' THEN found >= asked
            WHEN '$lt' THEN found < asked
            WHEN '$lte' THEN found <= asked END END;

COMMENT ON FUNCTION meets_comparison IS
    'Whether a value in metadata, NULL where there is none, meets a comparison. asked: its value; '
    'among: for $in and $nin, its values. Orderings compare numbers with numbers and texts with '
    'texts.';

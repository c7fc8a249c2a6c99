CREATE OR REPLACE FUNCTION frequency(retrieval_count integer, cap float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN least(coalesce(retrieval_count, 0)::float8 / cap, 1::float8);

COMMENT ON FUNCTION frequency(integer, float8) IS
    'Returns retrievals as a share of cap, at most 1; 0 for a memory that was never retrieved.';

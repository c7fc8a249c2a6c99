CREATE OR REPLACE FUNCTION storable_share(value float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN value < 1e-100::float8 THEN 0::float8 ELSE value END;

COMMENT ON FUNCTION storable_share(float8) IS
    'Returns the share, or 0 if it is too small to compute with.';

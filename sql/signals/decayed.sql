-- Adding 1 and taking it away turns into 0 what is too small to matter: the product of two tiny
-- numbers underflows, and PostgreSQL raises. Both arguments are used once, or it would not be
-- inlined.
CREATE OR REPLACE FUNCTION decayed(score float8, factor float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (score + 1::float8 - 1::float8) * factor;

COMMENT ON FUNCTION decayed IS
    'Returns score * factor, where a score below 1e-16 counts as 0.';

-- For readers.
-- It is one expression for counting and collecting, in a form that PostgreSQL inlines. A rule whose
-- value is NULL is off. A rule does not apply to a memory that lacks the trust or the time it
-- judges by.
CREATE OR REPLACE FUNCTION garbage_rule(
    trust float8, expires_at timestamptz, created_at timestamptz, moment timestamptz,
    min_trust_threshold float8, oldest timestamptz, delete_threshold float8) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN trust < delete_threshold THEN 'delete'
                WHEN expires_at <= moment THEN 'expires_at'
                WHEN trust < min_trust_threshold THEN 'min_trust_threshold'
                WHEN created_at < oldest THEN 'max_age_hours' END;

COMMENT ON FUNCTION garbage_rule IS
    'Returns the action of a policy for a live memory: delete, or the rule that archives it; NULL '
    'if it stays.';

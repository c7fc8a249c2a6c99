-- For readers.
-- Jobs call it, since they may take as long as they need. A procedure calls it after each COMMIT,
-- since a setting of a transaction ends there. PostgreSQL 16 has no transaction_timeout.
CREATE OR REPLACE FUNCTION lift_limits() RETURNS text[]
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    limits text[] := ARRAY[current_setting('statement_timeout'), current_setting('lock_timeout'),
                           current_setting('transaction_timeout', true)];
BEGIN
    PERFORM restore_limits('{0,0,0}');
    RETURN limits;
END
$function$;

COMMENT ON FUNCTION lift_limits IS
    'Turns off statement_timeout, lock_timeout and transaction_timeout for this transaction; '
    'returns their former values.';

CREATE OR REPLACE FUNCTION restore_limits(limits text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM set_config('statement_timeout', limits[1], true),
            set_config('lock_timeout', limits[2], true);
    IF current_setting('transaction_timeout', true) IS NOT NULL THEN
        PERFORM set_config('transaction_timeout', limits[3], true);
    END IF;
END
$function$;

COMMENT ON FUNCTION restore_limits IS
    'Sets statement_timeout, lock_timeout and transaction_timeout for this transaction to the '
    'result of lift_limits.';

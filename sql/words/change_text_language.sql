-- For the owner.
-- A plan that somebody keeps holds the language as a constant, and is made anew only where a function
-- that it has taken in was altered: so each of them is, to what it was. And an index that is being
-- built either is there already when the table of them is locked, or waits and then sees this.
CREATE OR REPLACE FUNCTION change_text_language(language regconfig) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    changed bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the language is changed in a READ COMMITTED transaction, which sees what '
            'others write until it has its lock; this one is %', current_setting('transaction_isolation')
            USING ERRCODE = 'invalid_transaction_state';
    ELSIF NOT EXISTS (SELECT FROM pg_ts_config WHERE oid = language) THEN
        RAISE EXCEPTION 'language must be a text search configuration, got %', language
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    LOCK TABLE agent_memories IN SHARE ROW EXCLUSIVE MODE;
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION text_language() RETURNS regconfig LANGUAGE sql '
        'IMMUTABLE PARALLEL SAFE RETURN %L::regconfig', (
            SELECT format('%I.%I', n.nspname, c.cfgname)
              FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
             WHERE c.oid = language));
    ALTER FUNCTION word_filter(text) COST 100;
    ALTER FUNCTION lexemes(text) COST 100;
    ALTER FUNCTION query_terms(text) COST 100;
    UPDATE agent_memories SET content = content;
    GET DIAGNOSTICS changed = ROW_COUNT;
    LOCK TABLE rank_indexes IN SHARE ROW EXCLUSIVE MODE;
    UPDATE rank_indexes SET common_terms = NULL, term_memories = NULL;
    RETURN changed;
END
$function$;

COMMENT ON FUNCTION change_text_language IS
    'Changes the language by which words are compared and takes all texts apart again, all or nothing; searches go on by the former one until it ends, writing waits.';

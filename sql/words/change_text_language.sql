-- For the owner.
-- A cached plan holds the language as a constant, and is made again only after a change of a
-- function that it inlined. So each such function is altered, to the cost it had. A build of a rank
-- index either has added its row when rank_indexes is locked here, or waits for the lock and then
-- sees the new language.
CREATE OR REPLACE FUNCTION change_text_language(language regconfig) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    changed bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the language can only be changed in a READ COMMITTED transaction, which '
            'sees the writes of others once it has its lock; this one is %',
            current_setting('transaction_isolation')
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
    'Changes the text language and parses all texts again, in one transaction. Until it ends, '
    'searches use the former language and writers wait.';

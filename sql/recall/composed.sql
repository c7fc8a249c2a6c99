CREATE OR REPLACE FUNCTION composed(
    name text, given text[], score text DEFAULT '', signals text DEFAULT '') RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN format(
        E'/* pgrecall %s */\n%s', name,
        replace(replace(replace(statement_text(name, statement_options(name || given)),
                                ':score', score),
                        ':signals', signals),
                'pgrecall.', format('"%s".', replace(current_schema(), '"', '""'))));

COMMENT ON FUNCTION composed IS
    'The text of a statement with these options, with named parameters such as :tags. score and '
    'signals: what stands for these.';

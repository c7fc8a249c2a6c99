CREATE OR REPLACE FUNCTION reckoned_tokens(tokens integer, content text, memory_type text)
    RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    -- Written by make recall: tokens.
    RETURN least(coalesce(tokens, regexp_count(content, E'[A-Z]{1,3}[a-z]{0,4}|[a-z]{1,4}|[0-9]{1,2}|[\\u0370-\\u1fff]{1,2}|[\\r\\n][ \\t\\r\\n]{0,7}| {2,8}| (?=[0-9])|[^ A-Za-z0-9\\r\\n\\u0370-\\u1fff]')), 2000000000)
         + 12 + least(regexp_count(memory_type, '[A-Z]{1,3}[a-z]{0,4}|[a-z]{1,4}|[^A-Za-z]'), 60)
         + 1 * regexp_count(content, E'\U0000000d\U0000000a|[\U0000000a\U0000000d\U0000000b\U0000000c\U0000001c\U0000001d\U0000001e\U00000085\U00002028\U00002029]');
    -- As written.

COMMENT ON FUNCTION reckoned_tokens IS
    'The tokens of a memory in a context of the plain style: those counted when it was written, or else an estimate, plus those of the text around it.';

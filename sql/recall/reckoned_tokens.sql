CREATE OR REPLACE FUNCTION reckoned_tokens(tokens integer, content text, memory_type text)
    RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN @tokens@;

COMMENT ON FUNCTION reckoned_tokens IS
    'The tokens of a memory in a context of the plain style: those counted when it was written, or else an estimate, plus those of the text around it.';

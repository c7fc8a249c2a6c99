-- For readers.
-- Volatile, so that a statement that stores a memory sees its trust.
CREATE OR REPLACE FUNCTION trust_of(agent text, memory_id uuid) RETURNS float8
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN (SELECT m.trust FROM agent_memories m
             WHERE m.agent_id = agent AND m.id = trust_of.memory_id);
END
$function$;

COMMENT ON FUNCTION trust_of IS
    'Returns the trust of a memory as stored, without decay; also of one that the same statement '
    'has stored.';

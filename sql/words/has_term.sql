CREATE OR REPLACE FUNCTION has_term(owners text[], term text, moment timestamptz) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
    SET enable_seqscan = off
    SET enable_indexscan = off
AS $function$
DECLARE
    one text;
BEGIN
    FOR one IN SELECT DISTINCT each FROM unnest(owners) each LOOP
        IF EXISTS (SELECT FROM agent_memories m
                    WHERE term_keys(m.agent_id, m.terms) @> ARRAY[term_key(one, term)]
                      AND m.agent_id = one COLLATE "C" AND m.terms @@ term_query(ARRAY[term])
                      AND coalesce(m.created_at <= moment, true)) THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END
$function$;

COMMENT ON FUNCTION has_term IS
    'Returns true if any of these owners has a memory with the term; with a moment, one created by '
    'then.';

-- For readers.
-- Without a sort, only the key gives this order. Without statistics, PostgreSQL would read and sort
-- all that is left of the owner for every page.
CREATE OR REPLACE FUNCTION next_exported(
    agent text, after uuid, many integer, most_bytes bigint) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET enable_sort = off AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT n.id
      FROM (SELECT p.id, sum(p.bytes) OVER (ORDER BY p.id) - p.bytes AS before
              FROM (SELECT m.id, octet_length(m.content) AS bytes FROM agent_memories m
                     WHERE m.agent_id = agent AND m.id > after
                     ORDER BY m.id LIMIT many) p) n
     WHERE n.before < most_bytes;
END
$function$;

COMMENT ON FUNCTION next_exported IS
    'The ids of the next memories of an owner behind this id, in order: at most so many, fewer if '
    'their text exceeds most_bytes.';

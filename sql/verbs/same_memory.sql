-- A memory that was invalidated counts until then; an expiry does not end its validity.
CREATE OR REPLACE FUNCTION overlap(
    from_1 timestamptz, until_1 timestamptz, from_2 timestamptz, until_2 timestamptz)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (from_1 IS NULL OR until_2 IS NULL OR from_1 < until_2)
       AND (from_2 IS NULL OR until_1 IS NULL OR from_2 < until_1);

COMMENT ON FUNCTION overlap IS 'Whether [from_1, until_1) and [from_2, until_2) meet; NULL: open.';

-- Of several the one that is recalled now, then one known by its text, then the last that was
-- recalled, then the next that will be.
CREATE OR REPLACE FUNCTION same_memory(agent text, new agent_memories)
    RETURNS TABLE (memory_id uuid, recalled boolean)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
BEGIN
    RETURN QUERY
    SELECT m.id, is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment)
      FROM agent_memories m
     WHERE m.agent_id = agent AND m.content_hash = new.content_hash AND m.status = 'active'
       AND m.memory_type = new.memory_type AND m.component IS NOT DISTINCT FROM new.component
       AND m.id <> new.id
       AND overlap(m.valid_from, least(m.valid_until, m.invalidated_at),
                   new.valid_from, least(new.valid_until, new.invalidated_at))
     ORDER BY 2 DESC, m.edition IS NULL, coalesce(m.valid_from > moment, false),
              least(m.valid_until, m.invalidated_at, 'infinity') DESC, m.valid_from, m.id
     LIMIT 1;
END
$function$;

COMMENT ON FUNCTION same_memory IS
    'The active memory of the same text, memory_type and component whose validity overlaps that of the new one, and whether it is recalled now.';

-- Invalidation ends the validity of a memory; expiry does not.
CREATE OR REPLACE FUNCTION overlap(
    from_1 timestamptz, until_1 timestamptz, from_2 timestamptz, until_2 timestamptz)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (from_1 IS NULL OR until_2 IS NULL OR from_1 < until_2)
       AND (from_2 IS NULL OR until_1 IS NULL OR from_2 < until_1);

COMMENT ON FUNCTION overlap IS
    'Whether [from_1, until_1) and [from_2, until_2) overlap; NULL: open.';

-- A turn of a dialogue is also known by its place, since "ok" is said again and again. Without a
-- turn number, the place is its created_at, unless that is now(), which means that none was given.
CREATE OR REPLACE FUNCTION same_kind(
    type_1 text, component_1 text, session_1 text, turn_1 integer, created_1 timestamptz,
    type_2 text, component_2 text, session_2 text, turn_2 integer, created_2 timestamptz)
    RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN type_1 = type_2 AND component_1 IS NOT DISTINCT FROM component_2
       AND session_1 IS NOT DISTINCT FROM session_2 AND turn_1 IS NOT DISTINCT FROM turn_2
       AND (session_1 IS NULL OR turn_1 IS NOT NULL
            OR coalesce(created_1 = created_2 AND created_1 <> now(), false));

COMMENT ON FUNCTION same_kind IS
    'Whether two memories of one text may be the same: they have the same memory_type, component and place in a session.';

-- Of several, the one that is recalled now comes first, then one with an edition, then the last
-- that was recalled, then the next that will be.
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
       AND same_kind(m.memory_type, m.component, m.session, m.turn, m.created_at,
                     new.memory_type, new.component, new.session, new.turn, new.created_at)
       AND m.id <> new.id
       AND overlap(m.valid_from, least(m.valid_until, m.invalidated_at),
                   new.valid_from, least(new.valid_until, new.invalidated_at))
     ORDER BY 2 DESC, m.edition IS NULL, coalesce(m.valid_from > moment, false),
              least(m.valid_until, m.invalidated_at, 'infinity') DESC, m.valid_from, m.id
     LIMIT 1;
END
$function$;

COMMENT ON FUNCTION same_memory IS
    'The active memory with the same text, memory_type, component and place in a session as the new one and overlapping validity, and whether it is recalled now.';

-- Invalidation ends the validity of a memory; expiry does not.
CREATE OR REPLACE FUNCTION overlap(
    from_1 timestamptz, until_1 timestamptz, from_2 timestamptz, until_2 timestamptz)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (from_1 IS NULL OR until_2 IS NULL OR from_1 < until_2)
       AND (from_2 IS NULL OR until_1 IS NULL OR from_2 < until_1);

COMMENT ON FUNCTION overlap IS
    'Returns true if [from_1, until_1) and [from_2, until_2) overlap; NULL is an open end.';

-- A turn of a dialogue is also identified by its place, since "ok" occurs again and again. Without
-- a turn number, the place is its created_at, unless that is now(), the default.
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
    'Returns true if two memories of one text may be the same: they have the same memory_type, '
    'component and place in a session.';

-- The values are compared as one text, since a join on six conditions that NULL may meet would
-- compare each memory with each. NULL means that no other memory is the same.
CREATE OR REPLACE FUNCTION kind_of(
    hash bytea, memory_type text, component text, session text, turn integer,
    created_at timestamptz) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN session IS NULL OR turn IS NOT NULL OR created_at <> now()
                THEN jsonb_build_array(hash, memory_type, component, session, turn,
                                       CASE WHEN session IS NOT NULL AND turn IS NULL
                                            THEN created_at END)::text END;

COMMENT ON FUNCTION kind_of IS
    'Returns a text that two memories share if their contents are equal and same_kind is true of '
    'them; NULL if it is true of no other memory.';

CREATE OR REPLACE FUNCTION active_kinds(agent text, hashes bytea[])
    RETURNS TABLE (kind text, ids uuid[])
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT k.kind, array_agg(k.id)
      FROM (SELECT m.id, kind_of(m.content_hash, m.memory_type, m.component, m.session, m.turn,
                                 m.created_at) AS kind
              FROM agent_memories m
             WHERE m.agent_id = agent AND m.content_hash = ANY (hashes)
               AND m.status = 'active') k
     WHERE k.kind IS NOT NULL GROUP BY k.kind;
END
$function$;

COMMENT ON FUNCTION active_kinds IS
    'Returns the active memories of the owner with these texts, for each kind_of.';

-- The others may still be the same as a stored one, or as one before them in the batch.
CREATE OR REPLACE FUNCTION new_kinds(
    agent text, memories agent_memories[], ids uuid[], but uuid[]) RETURNS integer[]
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    RETURN ARRAY(
        WITH coming AS MATERIALIZED (
            SELECT date_part('epoch', m.inserted_at)::integer AS place, m.id, m.content_hash,
                   kind_of(m.content_hash, m.memory_type, m.component, m.session, m.turn,
                           m.created_at) AS kind
              FROM with_defaults(agent, memories, ids, 1) m
             WHERE m.edition IS NOT NULL AND m.id NOT IN (SELECT b FROM unnest(but) b))
        SELECT min(c.place) FROM coming c
         -- NOT IN becomes a hash table, whatever its size.
         WHERE (c.kind NOT IN (
                    SELECT t.kind FROM active_kinds(
                        agent, ARRAY(SELECT DISTINCT d.content_hash FROM coming d)) t)) IS NOT FALSE
         GROUP BY coalesce(c.kind, c.id::text)
         ORDER BY 1);
END
$function$;

COMMENT ON FUNCTION new_kinds IS
    'Returns the places of new memories without a key, except but, whose text is new: no active '
    'memory of the owner and no memory before them has it with the same memory_type, component and '
    'place in a session.';

-- If there are several, the one that searches return now comes first, then one with an edition,
-- then the last one that they returned, then the next one that they will.
CREATE OR REPLACE FUNCTION same_memory(
    agent text, new agent_memories, among uuid[] DEFAULT NULL)
    RETURNS TABLE (memory_id uuid, recalled boolean)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
BEGIN
    IF among IS NULL THEN
        among := ARRAY(
            SELECT m.id FROM agent_memories m
             WHERE m.agent_id = agent AND m.content_hash = new.content_hash AND m.status = 'active'
               AND same_kind(m.memory_type, m.component, m.session, m.turn, m.created_at,
                             new.memory_type, new.component, new.session, new.turn,
                             new.created_at));
    END IF;
    RETURN QUERY
    SELECT m.id, is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment)
      FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = ANY (among) AND m.status = 'active' AND m.id <> new.id
       AND overlap(m.valid_from, least(m.valid_until, m.invalidated_at),
                   new.valid_from, least(new.valid_until, new.invalidated_at))
     ORDER BY 2 DESC, m.edition IS NULL, coalesce(m.valid_from > moment, false),
              least(m.valid_until, m.invalidated_at, 'infinity') DESC, m.valid_from, m.id
     LIMIT 1;
END
$function$;

COMMENT ON FUNCTION same_memory IS
    'Returns the active memory with the text, memory_type, component and place in a session of the '
    'new one and a validity that overlaps, and whether searches return it now. The argument among '
    'holds the memories of the same text and kind, if the caller knows them.';

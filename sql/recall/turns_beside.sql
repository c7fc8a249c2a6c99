-- Two lookups in the index on turns for each memory.
CREATE OR REPLACE FUNCTION turns_beside(agent text, memory_id uuid, turns integer)
    RETURNS TABLE (id uuid, distance integer)
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 4 SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT near.id, near.distance::integer
      FROM (SELECT m.session, coalesce(m.turn, 2147483647) AS turn,
                   coalesce(m.created_at, 'infinity') AS created_at, m.id
              FROM agent_memories m
             WHERE m.agent_id = turns_beside.agent AND m.id = turns_beside.memory_id
               AND m.session IS NOT NULL
            OFFSET 0) this
     CROSS JOIN LATERAL (
           (SELECT m.id, row_number() OVER (ORDER BY coalesce(m.turn, 2147483647) DESC,
                   coalesce(m.created_at, 'infinity') DESC, m.id DESC) AS distance
              FROM agent_memories m
             WHERE m.agent_id = turns_beside.agent AND m.session = this.session
               AND (coalesce(m.turn, 2147483647), coalesce(m.created_at, 'infinity'), m.id)
                   < (this.turn, this.created_at, this.id)
             ORDER BY coalesce(m.turn, 2147483647) DESC, coalesce(m.created_at, 'infinity') DESC,
                      m.id DESC
             LIMIT turns_beside.turns)
            UNION ALL
           (SELECT m.id, row_number() OVER (ORDER BY coalesce(m.turn, 2147483647),
                   coalesce(m.created_at, 'infinity'), m.id)
              FROM agent_memories m
             WHERE m.agent_id = turns_beside.agent AND m.session = this.session
               AND (coalesce(m.turn, 2147483647), coalesce(m.created_at, 'infinity'), m.id)
                   > (this.turn, this.created_at, this.id)
             ORDER BY coalesce(m.turn, 2147483647), coalesce(m.created_at, 'infinity'), m.id
             LIMIT turns_beside.turns)) near;
END
$function$;

COMMENT ON FUNCTION turns_beside IS
    'The turns before and after a memory in its session, at most so many each way, and their '
    'distance.';

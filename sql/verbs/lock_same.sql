-- Nothing is looked up for an empty array: it is taken to imply the condition of every index.
CREATE OR REPLACE FUNCTION lock_same(agent text, hashes bytea[], memory_ids uuid[] DEFAULT '{}')
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    ids uuid[] := CASE WHEN hashes = '{}' THEN '{}' ELSE ARRAY(
        WITH RECURSIVE said AS (
            SELECT m.id, m.superseded_by FROM agent_memories m
             WHERE m.agent_id = agent AND m.content_hash = ANY (hashes) AND m.status = 'active'
             UNION
            SELECT m.id, m.superseded_by FROM agent_memories m
             WHERE m.agent_id = agent AND m.content_hash = ANY (hashes)
               AND m.superseded_by IS NOT NULL
             UNION
            -- OFFSET 0: each is looked up by its key. A join might read all memories of the owner.
            SELECT m.id, m.superseded_by FROM said
             CROSS JOIN LATERAL (SELECT n.id, n.superseded_by FROM agent_memories n
                                  WHERE n.agent_id = agent AND n.id = said.superseded_by
                                 OFFSET 0) m)
        SELECT said.id FROM said) END || memory_ids;
BEGIN
    IF ids = '{}' THEN
        RETURN;
    END IF;
    PERFORM FROM agent_memories m
      WHERE m.agent_id = agent AND m.id = ANY (ids)
      ORDER BY m.id FOR NO KEY UPDATE;
END
$function$;

COMMENT ON FUNCTION lock_same IS
    'Locks, in the order of the key, the given memories, those of these texts that are active or superseded, and the successors of the latter.';

CREATE OR REPLACE FUNCTION lock_same(agent text, hashes bytea[], memory_ids uuid[] DEFAULT '{}')
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    ids uuid[] := ARRAY(
        WITH RECURSIVE texts AS (
            SELECT unnest(hashes) AS hash
             UNION
            -- OFFSET 0: each is looked up by key. A join, or a list of hashes in a plan for any
            -- list, might read all memories of the owner.
            SELECT m.content_hash FROM unnest(memory_ids) it
             CROSS JOIN LATERAL (SELECT n.content_hash FROM agent_memories n
                                  WHERE n.agent_id = agent AND n.id = it
                                 OFFSET 0) m),
        same AS (
            SELECT m.id, m.superseded_by FROM texts
             CROSS JOIN LATERAL (SELECT n.id, n.superseded_by FROM agent_memories n
                                  WHERE n.agent_id = agent AND n.content_hash = texts.hash
                                    AND n.status = 'active'
                                 OFFSET 0) m
             UNION
            SELECT m.id, m.superseded_by FROM texts
             CROSS JOIN LATERAL (SELECT n.id, n.superseded_by FROM agent_memories n
                                  WHERE n.agent_id = agent AND n.content_hash = texts.hash
                                    AND n.superseded_by IS NOT NULL
                                 OFFSET 0) m
             UNION
            SELECT m.id, m.superseded_by FROM same
             CROSS JOIN LATERAL (SELECT n.id, n.superseded_by FROM agent_memories n
                                  WHERE n.agent_id = agent AND n.id = same.superseded_by
                                 OFFSET 0) m)
        SELECT id FROM same) || memory_ids;
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
    'Locks, in the order of the key, these memories, the active or superseded memories with their '
    'texts or these hashes, and the successors of the superseded ones.';

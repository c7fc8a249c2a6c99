-- All clusters are locked first, in the order of the key, so that two runs cannot deadlock.
CREATE OR REPLACE FUNCTION consolidate(
    agent text, min_similarity float8 DEFAULT 0.80, min_size integer DEFAULT 3,
    more_than integer DEFAULT 20, newest integer DEFAULT 2000, actor text DEFAULT session_user,
    dry_run boolean DEFAULT false)
    RETURNS TABLE (memory_id uuid, source_ids uuid[], importance float8)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
DECLARE
    ids uuid[];
    times timestamptz[];
    numbers integer[];
    found record;
BEGIN
    IF dry_run THEN
        RETURN QUERY
        SELECT NULL::uuid, array_agg(c.memory_id ORDER BY c.place),
               least(max(m.importance) + 0.1, 1)
          FROM clusters(agent, min_similarity, min_size, more_than, newest) c
          JOIN agent_memories m ON m.agent_id = agent AND m.id = c.memory_id
         GROUP BY c.cluster ORDER BY c.cluster;
        RETURN;
    END IF;
    SELECT array_agg(c.memory_id ORDER BY c.cluster, c.place),
           array_agg(m.updated_at ORDER BY c.cluster, c.place),
           array_agg(c.cluster ORDER BY c.cluster, c.place)
      INTO ids, times, numbers
      FROM clusters(agent, min_similarity, min_size, more_than, newest) c
      JOIN agent_memories m ON m.agent_id = agent AND m.id = c.memory_id;
    PERFORM FROM agent_memories m
      WHERE m.agent_id = agent AND m.id = ANY (ids)
      ORDER BY m.id FOR NO KEY UPDATE;
    FOR found IN
        SELECT array_agg(k.id ORDER BY k.place) AS ids,
               array_agg(k.updated_at ORDER BY k.place) AS times
          FROM unnest(ids, times, numbers) WITH ORDINALITY k(id, updated_at, cluster, place)
         GROUP BY k.cluster ORDER BY k.cluster
    LOOP
        RETURN QUERY
        SELECT c.memory_id, c.source_ids, c.importance
          FROM consolidate_memories(agent, found.ids, found.times, actor => actor) c;
    END LOOP;
END
$verb$;

COMMENT ON FUNCTION consolidate IS
    'Replaces each cluster by one memory with the text of its most central one; see clusters and '
    'consolidate_memories. A dry_run returns the clusters, the most central memory first.';

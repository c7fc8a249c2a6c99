-- With these settings, PostgreSQL reads the indexes of these moments, whatever it expects. They
-- reach nothing else, since these functions call none. Some events change nothing that a position
-- has. Searches pass over memories that were archived or deleted, but maintenance counts them: they
-- take the place of others in the graph.
CREATE OR REPLACE FUNCTION beside_since(
    agent text, since timestamptz, most bigint DEFAULT NULL, archived boolean DEFAULT true,
    OUT written uuid[], OUT changed uuid[])
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET enable_sort = off AS $function$
DECLARE
    passed_over text[] := '{retrieved,judgement,linked,unlinked}'::text[]
        || CASE WHEN NOT archived THEN '{archived,completed,consolidated,deleted}'::text[] END;
BEGIN
    written := ARRAY(
        SELECT m.id FROM agent_memories m
         WHERE m.agent_id = agent AND m.inserted_at >= since
         ORDER BY m.inserted_at LIMIT most);
    changed := ARRAY(
        SELECT DISTINCT c.memory_id
          FROM (SELECT e.memory_id FROM memory_events e
                 WHERE e.agent_id = agent AND e.occurred_at >= since AND e.event_type <> 'initial'
                   AND e.event_type <> ALL (passed_over)
                 ORDER BY e.occurred_at) c);
END
$function$;

COMMENT ON FUNCTION beside_since IS
    'Returns the memories of an owner that were written since a moment, up to a limit, and those '
    'that were changed so that their positions may differ; with archived, also those that were '
    'archived or deleted.';

-- A memory that is scored beside an index takes some ten times as long as one of all, since it is
-- looked up by its key. With a fifteenth of the index beside it, searches by five signals take as
-- long as exact ones; by similarity alone, with a twenty-fifth.
CREATE OR REPLACE FUNCTION beside_index(agent text, relation text, since timestamptz) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    most bigint := (SELECT greatest(r.memories / 20, 500) FROM rank_indexes r
                     WHERE r.agent_id = agent AND r.relation = beside_index.relation);
    beside uuid[] := ARRAY(SELECT DISTINCT unnest(b.written || b.changed)
                             FROM beside_since(agent, since, most + 1, false) b);
BEGIN
    RETURN CASE WHEN cardinality(beside) <= most THEN beside END;
END
$function$;

COMMENT ON FUNCTION beside_index IS
    'Returns the memories of an owner that a search scores beside the rank index with this table, '
    'because they were written or changed after a moment. Returns NULL if there are so many that '
    'it is cheaper to score all memories, or if there is no such index.';

CREATE OR REPLACE FUNCTION used_since(agent text, since timestamptz) RETURNS bigint
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT
    SET enable_seqscan = off SET enable_indexscan = off
AS $function$
BEGIN
    RETURN (SELECT count(*) FROM memory_usage u
             WHERE u.agent_id = agent AND u.last_accessed_at > since);
END
$function$;

COMMENT ON FUNCTION used_since IS
    'Returns the number of memories of an owner whose last use is after a moment.';

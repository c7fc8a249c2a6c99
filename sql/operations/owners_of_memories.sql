CREATE FUNCTION owners_of_memories(
    with_leftovers boolean DEFAULT false
) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    found_owners text[] := '{}';
BEGIN
    found_owners := ARRAY(
    WITH RECURSIVE found(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT agent_memories.agent_id AS owner_id
    FROM agent_memories ORDER BY agent_memories.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT agent_memories.agent_id
    FROM agent_memories
    WHERE agent_memories.agent_id > found.owner_id ORDER BY agent_memories.agent_id
     LIMIT 1) AS anon_1
    FROM found
    WHERE found.owner_id IS NOT NULL)
     SELECT every.owner_id
    FROM (SELECT found.owner_id AS owner_id
    FROM found
    WHERE found.owner_id IS NOT NULL ORDER BY found.owner_id) AS every
    WHERE NOT starts_with(every.owner_id, 'team:') ORDER BY every.owner_id) || ARRAY(
    WITH RECURSIVE found(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT agent_memories.agent_id AS owner_id
    FROM agent_memories ORDER BY agent_memories.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT agent_memories.agent_id
    FROM agent_memories
    WHERE agent_memories.agent_id > found.owner_id ORDER BY agent_memories.agent_id
     LIMIT 1) AS anon_1
    FROM found
    WHERE found.owner_id IS NOT NULL)
     SELECT every.owner_id
    FROM (SELECT found.owner_id AS owner_id
    FROM found
    WHERE found.owner_id IS NOT NULL ORDER BY found.owner_id) AS every
    WHERE starts_with(every.owner_id, 'team:') ORDER BY every.owner_id);
    IF with_leftovers THEN
        found_owners := found_owners
            || ARRAY(
    WITH RECURSIVE names_of_memory_usage(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_usage.agent_id AS owner_id
    FROM memory_usage ORDER BY memory_usage.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_usage.agent_id
    FROM memory_usage
    WHERE memory_usage.agent_id > names_of_memory_usage.owner_id ORDER BY memory_usage.agent_id
     LIMIT 1) AS anon_1
    FROM names_of_memory_usage
    WHERE names_of_memory_usage.owner_id IS NOT NULL),
    names_of_memory_labels(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_labels.agent_id AS owner_id
    FROM memory_labels ORDER BY memory_labels.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_labels.agent_id
    FROM memory_labels
    WHERE memory_labels.agent_id > names_of_memory_labels.owner_id ORDER BY memory_labels.agent_id
     LIMIT 1) AS anon_2
    FROM names_of_memory_labels
    WHERE names_of_memory_labels.owner_id IS NOT NULL),
    names_of_memory_links(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_links.agent_id AS owner_id
    FROM memory_links ORDER BY memory_links.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_links.agent_id
    FROM memory_links
    WHERE memory_links.agent_id > names_of_memory_links.owner_id ORDER BY memory_links.agent_id
     LIMIT 1) AS anon_3
    FROM names_of_memory_links
    WHERE names_of_memory_links.owner_id IS NOT NULL)
     SELECT names.owner_id
    FROM ((SELECT names_of_memory_usage.owner_id AS owner_id
    FROM names_of_memory_usage
    WHERE names_of_memory_usage.owner_id IS NOT NULL ORDER BY names_of_memory_usage.owner_id) UNION (SELECT names_of_memory_labels.owner_id AS owner_id
    FROM names_of_memory_labels
    WHERE names_of_memory_labels.owner_id IS NOT NULL ORDER BY names_of_memory_labels.owner_id) UNION (SELECT names_of_memory_links.owner_id AS owner_id
    FROM names_of_memory_links
    WHERE names_of_memory_links.owner_id IS NOT NULL ORDER BY names_of_memory_links.owner_id)) AS names
    WHERE NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = names.owner_id)) AND NOT starts_with(names.owner_id, 'team:') ORDER BY names.owner_id) || ARRAY(
    WITH RECURSIVE names_of_memory_usage(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_usage.agent_id AS owner_id
    FROM memory_usage ORDER BY memory_usage.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_usage.agent_id
    FROM memory_usage
    WHERE memory_usage.agent_id > names_of_memory_usage.owner_id ORDER BY memory_usage.agent_id
     LIMIT 1) AS anon_1
    FROM names_of_memory_usage
    WHERE names_of_memory_usage.owner_id IS NOT NULL),
    names_of_memory_labels(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_labels.agent_id AS owner_id
    FROM memory_labels ORDER BY memory_labels.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_labels.agent_id
    FROM memory_labels
    WHERE memory_labels.agent_id > names_of_memory_labels.owner_id ORDER BY memory_labels.agent_id
     LIMIT 1) AS anon_2
    FROM names_of_memory_labels
    WHERE names_of_memory_labels.owner_id IS NOT NULL),
    names_of_memory_links(owner_id) AS
    (SELECT first.owner_id AS owner_id
    FROM (SELECT memory_links.agent_id AS owner_id
    FROM memory_links ORDER BY memory_links.agent_id
     LIMIT 1) AS first UNION ALL SELECT (SELECT memory_links.agent_id
    FROM memory_links
    WHERE memory_links.agent_id > names_of_memory_links.owner_id ORDER BY memory_links.agent_id
     LIMIT 1) AS anon_3
    FROM names_of_memory_links
    WHERE names_of_memory_links.owner_id IS NOT NULL)
     SELECT names.owner_id
    FROM ((SELECT names_of_memory_usage.owner_id AS owner_id
    FROM names_of_memory_usage
    WHERE names_of_memory_usage.owner_id IS NOT NULL ORDER BY names_of_memory_usage.owner_id) UNION (SELECT names_of_memory_labels.owner_id AS owner_id
    FROM names_of_memory_labels
    WHERE names_of_memory_labels.owner_id IS NOT NULL ORDER BY names_of_memory_labels.owner_id) UNION (SELECT names_of_memory_links.owner_id AS owner_id
    FROM names_of_memory_links
    WHERE names_of_memory_links.owner_id IS NOT NULL ORDER BY names_of_memory_links.owner_id)) AS names
    WHERE NOT (EXISTS (SELECT 1
    FROM agent_memories
    WHERE agent_memories.agent_id = names.owner_id)) AND starts_with(names.owner_id, 'team:') ORDER BY names.owner_id);
    END IF;
    RETURN found_owners;
END
$operation$;

COMMENT ON FUNCTION owners_of_memories IS
    'Who has memories, agents first and then teams; with_leftovers: also who only has what memories left behind.';

CREATE FUNCTION owners_of_memories(
    of_team boolean DEFAULT false
) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
    found_owners text[] := '{}';
BEGIN
    IF of_team THEN
        found_owners := ARRAY(
        WITH RECURSIVE found(owner_id) AS
        (SELECT first.owner_id AS owner_id
        FROM (SELECT team_memories.team_id AS owner_id
        FROM team_memories ORDER BY team_memories.team_id
         LIMIT 1) AS first UNION ALL SELECT (SELECT team_memories.team_id
        FROM team_memories
        WHERE team_memories.team_id > found.owner_id ORDER BY team_memories.team_id
         LIMIT 1) AS anon_1
        FROM found
        WHERE found.owner_id IS NOT NULL)
         SELECT found.owner_id
        FROM found
        WHERE found.owner_id IS NOT NULL ORDER BY found.owner_id);
        RETURN found_owners;
    ELSE
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
         SELECT found.owner_id
        FROM found
        WHERE found.owner_id IS NOT NULL ORDER BY found.owner_id);
        RETURN found_owners;
    END IF;
END
$operation$;

COMMENT ON FUNCTION owners_of_memories IS
    'Which agents (or teams) have memories, in order.';

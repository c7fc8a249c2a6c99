-- For readers.
-- The query looks up each owner in the key, so the time depends on the number of owners, not of
-- memories; the count reads an index of the owner's memories.
CREATE OR REPLACE FUNCTION owners(
    of_teams boolean DEFAULT NULL, prefix text DEFAULT '', most integer DEFAULT 100,
    after text DEFAULT NULL) RETURNS TABLE (agent_id text, memories bigint)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    last text := coalesce(after, '');
    listed integer := 0;
BEGIN
    PERFORM require_count('most', most, 1, 1000000);
    WHILE listed < most LOOP
        SELECT min(m.agent_id) INTO last FROM agent_memories m WHERE m.agent_id > last;
        EXIT WHEN last IS NULL;
        CONTINUE WHEN starts_with(last, 'team:') <> of_teams
                   OR NOT starts_with(regexp_replace(last, '^team:', ''), prefix);
        agent_id := last;
        SELECT count(*) INTO memories FROM agent_memories m WHERE m.agent_id = last;
        RETURN NEXT;
        listed := listed + 1;
    END LOOP;
END
$function$;

COMMENT ON FUNCTION owners IS
    'Returns agents and teams (team:<id>) that have memories, with their number, in the order of '
    'their ids. of_teams: only teams, or only agents. prefix: only ids that begin so, without '
    'team:. after: the last id of the page before.';

-- The index gives no candidates, and the search notices, where
-- - it was replaced or dropped after its name was read: uses are no longer noted in its table,
-- - so much was written or changed that scoring all memories takes less,
-- - the query has words and the text language was changed after the build,
-- - this version of pgvector may have corrupted its graph,
-- - the role may not read all that this needs,
-- - a policy guards memories, and either none guards the positions yet or words count: the indexes
-- of words cannot be used behind a policy, and each term would take a scan of all positions.
-- The function takes 100 or more of the memories used since the build, since their positions do not
-- know which were used last.
-- It is a function of its own, so that PostgreSQL can cache one plan for the search whatever the
-- times are.
CREATE OR REPLACE FUNCTION rank_candidates(
    agent text, relation text, query text, candidates integer,
    written_since timestamptz, used_query text,
    reach integer DEFAULT 0, keyword_weight float8 DEFAULT 0, terms text[] DEFAULT '{}',
    memories bigint[] DEFAULT '{}', weights float8[] DEFAULT '{}',
    b float8 DEFAULT 0, pivot float8 DEFAULT 1)
    RETURNS TABLE (memory_id uuid, from_index boolean)
    LANGUAGE plpgsql VOLATILE ROWS 200
    SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    owned bigint;
    axes @extschema:vector@.halfvec[];
    likeness float8;
    since timestamptz;
    beside uuid[];
    near uuid[];
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'data_exception';
    END IF;
    IF hnsw_state() = 'refused'
       OR NOT has_table_privilege('memory_events', 'SELECT')
       OR row_security_active('agent_memories') AND keyword_weight > 0
       OR NOT (
       SELECT bool_and(has_table_privilege(one, 'SELECT')
                       AND (row_security_active(one) OR NOT row_security_active('agent_memories')))
         FROM unnest(ARRAY[to_regclass(relation), to_regclass(used_positions(relation))]) one) THEN
        RETURN;
    END IF;
    candidates := least(candidates, @MAX_CANDIDATES@);
    reach := least(reach, @MAX_CANDIDATES@);
    SELECT r.likeness, r.term_memories, r.axes, usage_synced_until(r.as_of, r.built_at)
      INTO likeness, owned, axes, since
      FROM rank_indexes r
     WHERE r.agent_id = agent AND r.relation = rank_candidates.relation AND r.space = rank_space();
    IF NOT FOUND
       OR owned IS NULL AND cardinality(terms) > 0 THEN  -- built in another text language
        RETURN;
    END IF;
    beside := beside_index(agent, relation, written_since);
    IF beside IS NULL THEN
        RETURN;
    END IF;
    BEGIN
        IF used_query IS NOT NULL THEN  -- first, as whoever drops both tables locks them
            EXECUTE format('LOCK TABLE %I IN ACCESS SHARE MODE', used_positions(relation));
            IF pg_relation_size(to_regclass(used_positions(relation))) = 0 THEN
                used_query := NULL;
            END IF;
        END IF;
        IF cardinality(terms) > 0 THEN
            near := ARRAY(SELECT w.memory_id FROM worded_candidates(
                agent, relation, short_direction(axes, query), candidates, reach, keyword_weight,
                terms, memories, weights, b, pivot, owned, likeness) w);
        ELSE
            near := ARRAY(SELECT n.memory_id FROM near_positions(
                relation, short_direction(axes, query), candidates, likeness, reach) n);
        END IF;
        IF used_query IS NOT NULL THEN
            RETURN QUERY SELECT u.memory_id, false
                           FROM near_used(
                               used_positions(relation), short_direction(axes, used_query),
                               greatest(candidates, 100), ARRAY(
                                   SELECT f.memory_id FROM memory_usage f
                                    WHERE f.agent_id = agent AND f.memory_id = ANY (near[:16])
                                      AND f.last_accessed_at > since)) u;
        END IF;
        RETURN QUERY SELECT unnest(near), true;
    EXCEPTION WHEN undefined_table THEN
        NULL;
    END;
    RETURN QUERY SELECT unnest(beside), false;
END
$function$;

COMMENT ON FUNCTION rank_candidates IS
    'Returns candidates to score exactly, some of them twice: at most @MAX_CANDIDATES@ memories '
    'whose positions have the largest inner products with the query (with words: plus the weight '
    'of their words); memories written or changed since the build; and, with used_query, the best '
    'memories used since then, without their time of use.';

-- The settings hold inside the function and return to what they were when it ends. A table that is
-- gone was replaced by maintenance since its name was read: then no candidate comes from it, and
-- whoever asked sees that. Nor does one for a query with words where the language was changed after
-- the build. A role that may not read all this needs gets nothing, not a part; nor does one that
-- policies on memories hold for where they do not on positions, which were there before, or where
-- words count: behind a policy the indexes of words cannot be used, and every term would take a scan
-- of all positions, where scoring all memories takes one.
-- A function and not part of the search, so that PostgreSQL can keep one plan for the search
-- whatever the times are.
CREATE OR REPLACE FUNCTION rank_candidates(
    agent text, relation text, query text, candidates integer,
    written_since timestamptz, used_since timestamptz,
    reach integer DEFAULT 0, keyword_weight float8 DEFAULT 0, terms text[] DEFAULT '{}',
    memories bigint[] DEFAULT '{}', weights float8[] DEFAULT '{}')
    RETURNS TABLE (memory_id uuid, from_index boolean)
    LANGUAGE plpgsql VOLATILE ROWS 200
    SET search_path FROM CURRENT
    SET enable_seqscan = off
AS $function$
#variable_conflict use_column
DECLARE
    owned bigint;
    likeness float8;
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'data_exception';
    END IF;
    IF NOT has_table_privilege('memory_events', 'SELECT')
       OR NOT coalesce(has_table_privilege(to_regclass(relation), 'SELECT'), false)
       OR row_security_active('agent_memories')
          AND (keyword_weight > 0 OR NOT coalesce(row_security_active(to_regclass(relation)), false)) THEN
        RETURN;
    END IF;
    SELECT r.likeness, r.term_memories INTO likeness, owned FROM rank_indexes r
     WHERE r.agent_id = agent AND r.relation = rank_candidates.relation;
    IF owned IS NULL AND cardinality(terms) > 0 THEN  -- the language was another one then
        RETURN;
    END IF;
    BEGIN
        IF cardinality(terms) > 0 THEN
            RETURN QUERY SELECT w.memory_id, true FROM worded_candidates(
                agent, relation, query, candidates, reach, keyword_weight,
                terms, memories, weights, owned, likeness) w;
        ELSE
            RETURN QUERY SELECT n.memory_id, true
                           FROM near_positions(
                               relation, query::@extschema:vector@.halfvec, candidates, reach, likeness) n;
        END IF;
    EXCEPTION WHEN undefined_table THEN
        NULL;
    END;
    RETURN QUERY SELECT m.id, false FROM agent_memories m
                  WHERE m.agent_id = agent AND m.inserted_at >= written_since;
    RETURN QUERY SELECT e.memory_id, false FROM memory_events e
                  WHERE e.agent_id = agent AND e.occurred_at >= written_since
                    AND e.event_type <> 'initial';
    IF used_since IS NOT NULL THEN
        SET LOCAL enable_seqscan = on;
        RETURN QUERY SELECT u.memory_id, false FROM memory_usage u
                      WHERE u.last_accessed_at > used_since AND u.agent_id = agent;
    END IF;
END
$function$;

COMMENT ON FUNCTION rank_candidates IS
    'Candidates for exact scoring: memories whose positions have the largest inner products with the query, or with words given the largest sums of that and their words'' weight, and those written or changed since, and used since where that is given; some twice. At most 1000 from the index.';

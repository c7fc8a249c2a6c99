-- A memory that is to be among the best by its words has some of the heaviest. So the rarest terms
-- bring all their memories, as long as there are few; of common ones those memories come that have
-- several. Which of them are scored in full is decided by their inner product with the query and
-- the weights of the terms by which they were found: nearly the score.
CREATE OR REPLACE FUNCTION word_candidates(
    agent text, relation text, direction text, keyword_weight float8,
    terms text[], memories bigint[], weights float8[], candidates integer)
    RETURNS TABLE (memory_id uuid)
    LANGUAGE plpgsql STABLE ROWS 100
    SET search_path FROM CURRENT
    SET enable_seqscan = off
    SET enable_indexscan = off
    SET max_parallel_workers_per_gather = 0
AS $function$
DECLARE
    places integer[] := ARRAY(
        SELECT place::integer FROM unnest(memories) WITH ORDINALITY m(n, place)
         WHERE n > 0 ORDER BY n, place LIMIT 32);
    total float8 := (SELECT sum(weight) FROM unnest(weights) weight);
    owned float8;
    left_over float8 := 5 * candidates;
    place integer;
    other integer;
    expected float8;
    chosen integer[];
    keys bigint[];
    common integer[] := '{}';
    found uuid[] := '{}';
    shares float8[] := '{}';
    these uuid[];
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'data_exception';
    END IF;
    IF places = '{}' OR NOT coalesce(has_table_privilege(to_regclass(relation), 'SELECT'), false) THEN
        RETURN;
    END IF;
    keys := ARRAY(SELECT term_key(agent, term)
                    FROM unnest(terms) WITH ORDINALITY t(term, place) ORDER BY t.place);
    SELECT greatest(coalesce(r.term_memories, r.memories), 1) INTO owned FROM rank_indexes r
     WHERE r.agent_id = agent;
    FOREACH place IN ARRAY places LOOP
        IF memories[place] > left_over THEN
            common := common || place;
            CONTINUE;
        END IF;
        left_over := left_over - memories[place];
        these := ARRAY(SELECT m.id FROM agent_memories m
                        WHERE term_keys(m.agent_id, m.terms) @> ARRAY[keys[place]]
                          AND m.agent_id = agent);
        found := found || these;
        shares := shares || array_fill(weights[place] / total, ARRAY[cardinality(these)]);
    END LOOP;
    FOR one IN 1 .. least(cardinality(common), 6) LOOP
        FOR two IN one + 1 .. least(cardinality(common), 6) LOOP
            chosen := ARRAY[common[one], common[two]];
            expected := memories[common[one]] * (memories[common[two]] / owned);
            other := two + 1;
            WHILE expected > left_over AND other <= cardinality(common) LOOP
                chosen := chosen || common[other];
                expected := expected * (memories[common[other]] / owned);
                other := other + 1;
            END LOOP;
            CONTINUE WHEN expected > left_over;
            these := ARRAY(SELECT m.id FROM agent_memories m
                            WHERE term_keys(m.agent_id, m.terms)
                                  @> ARRAY(SELECT keys[c] FROM unnest(chosen) c)
                              AND m.agent_id = agent
                            LIMIT ceil(left_over));
            left_over := left_over - cardinality(these);
            found := found || these;
            shares := shares || array_fill(
                (SELECT sum(weights[c]) FROM unnest(chosen) c) / total, ARRAY[cardinality(these)]);
        END LOOP;
    END LOOP;
    BEGIN
        PERFORM set_config('enable_indexscan', 'on', true);
        RETURN QUERY EXECUTE format($$
            SELECT f.id FROM (SELECT id, least(sum(share), 1) AS share
                                FROM unnest($1, $2) n(id, share) GROUP BY id) f
              JOIN %I p ON p.memory_id = f.id
             ORDER BY (p.position OPERATOR(@extschema:vector@.<#>) $3) - $4 * f.share LIMIT $5 $$,
                relation)
            USING found, shares, direction::@extschema:vector@.halfvec, keyword_weight, candidates;
    EXCEPTION WHEN undefined_table THEN
        NULL;
    END;
END
$function$;

COMMENT ON FUNCTION word_candidates IS
    'Candidates for exact scoring from the terms of a query: of the memories that have the heaviest of them, or several of the common ones, those nearest to the query by position and terms.';

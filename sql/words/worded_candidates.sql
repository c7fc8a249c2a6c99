-- The walk through the graph looks further than asked. The memories it meets, and those with the
-- rarest terms, are compared by the inner product with the query plus the weight of their words,
-- which are stored beside the positions. That is nearly the score.
-- A memory that the walk has not met has at most the inner product of the last one that it met. To
-- be among the best, it needs at least the share `needed` of the query's words. It then has one of
-- the terms without which that share is impossible and, where one is not enough, another one. Those
-- memories are looked up too, unless there are too many. This also holds if the walk returns too
-- few memories, because it met deleted ones. If there are too few candidates, `needed` is
-- -Infinity. A walk that has missed a group goes on, as in near_positions.
CREATE OR REPLACE FUNCTION worded_candidates(
    agent text, relation text, query @extschema:vector@.halfvec, candidates integer,
    reach integer, keyword_weight float8, terms text[], memories bigint[], weights float8[],
    b float8, pivot float8, owned bigint, likeness float8)
    RETURNS TABLE (memory_id uuid)
    LANGUAGE plpgsql VOLATILE ROWS 100
    SET search_path FROM CURRENT
    SET max_parallel_workers_per_gather = 0
AS $function$
DECLARE
    hits integer := greatest(candidates / 6, 1);
    keys bigint[];
    shares float8[];
    numbers float8[];
    rare integer := 0;
    left_over float8 := 64 * candidates;
    found record;
    needed float8;
    rest float8[];
    upto float8[];
    last integer;
    expected float8;
    firsts integer[] := '{}';
    lasts integer[] := '{}';
    asked @extschema:vector@.halfvec := meaning(query);
    walked integer := reach;
    all_compared boolean := false;
BEGIN
    SELECT coalesce(array_agg(term_key(agent, t.term) ORDER BY t.n, t.place), '{}'),
           coalesce(array_agg(t.share ORDER BY t.n, t.place), '{}'),
           coalesce(array_agg(t.n ORDER BY t.n, t.place), '{}')
      INTO keys, shares, numbers
      FROM (SELECT a.term, a.n, a.place, a.weight / nullif(sum(a.weight) OVER (), 0) AS share
              FROM unnest(terms, memories, weights) WITH ORDINALITY a(term, n, weight, place)) t
     WHERE t.n > 0;
    WHILE rare < cardinality(keys) AND left_over - numbers[rare + 1] >= 62 * candidates LOOP
        rare := rare + 1;
        left_over := left_over - numbers[rare];
    END LOOP;

    LOOP
        SELECT * INTO found FROM walk_with_words(
            relation, query, asked, walked, all_compared, keys[:rare],
            keys, shares, keyword_weight, b, pivot);
        EXIT WHEN all_compared
                  OR NOT has_missed(relation, asked, likeness, found.met, found.scores[1]);
        all_compared := walked = @MAX_CANDIDATES@;
        walked := least(4 * walked, @MAX_CANDIDATES@);
    END LOOP;

    IF keyword_weight > 0 THEN
        needed := coalesce((found.scores[hits] - found.farthest) / keyword_weight, '-Infinity');
        rest := ARRAY(SELECT sum(s.share) OVER (ORDER BY s.place DESC)
                        FROM unnest(shares) WITH ORDINALITY s(share, place) ORDER BY s.place);
        upto := ARRAY(SELECT sum(n.number) OVER (ORDER BY n.place)
                        FROM unnest(numbers) WITH ORDINALITY n(number, place) ORDER BY n.place);
        last := cardinality(keys);
        FOR one IN rare + 1 .. least(cardinality(keys), rare + 32) LOOP
            EXIT WHEN rest[one] < needed;
            WHILE last > one AND shares[one] + rest[last] < needed LOOP
                last := last - 1;
            END LOOP;
            EXIT WHEN last = one AND shares[one] < needed;
            expected := numbers[one];
            IF shares[one] < needed THEN
                expected := expected * least((upto[last] - upto[one]) / nullif(owned, 0), 1);
            END IF;
            CONTINUE WHEN expected > left_over;
            left_over := left_over - expected;
            firsts := firsts || one;
            lasts := lasts || CASE WHEN shares[one] < needed THEN last ELSE one END;
        END LOOP;
    END IF;
    IF firsts = '{}' THEN
        RETURN QUERY SELECT unnest(found.ids[:candidates]);
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format($$
        SELECT memory_id FROM (
            SELECT * FROM unnest($1, $2) f(memory_id, score)
             UNION
            SELECT near.memory_id, near.nearness + $8 * (
                       SELECT keyword(sum(share), near.bytes, $11, $12)
                         FROM unnest(near.words) had(key)
                         JOIN unnest($6, $7) asked(key, share) USING (key))
              FROM unnest($3, $4) term(first, last)
             CROSS JOIN LATERAL (
                SELECT p.memory_id,
                       greatest(-(p.position OPERATOR(@extschema:vector@.<#>) $5), 0) AS nearness,
                       p.words, p.bytes
                  FROM %I p
                 WHERE p.words @> $6[term.first:term.first]
                   AND p.words && $6[least(term.first + 1, term.last):term.last]
                OFFSET 0) near
             WHERE near.nearness > $9 AND near.memory_id <> ALL ($1)) every
         ORDER BY score DESC LIMIT $10 $$, relation)
        USING coalesce(found.ids, '{}'), found.scores, firsts, lasts,
              query, keys, shares, keyword_weight,
              coalesce(found.scores[candidates] - keyword_weight * rest[rare + 1], '-Infinity'),
              candidates, b, pivot;
END
$function$;

COMMENT ON FUNCTION worded_candidates IS
    'Returns candidates to score exactly, from positions and words together: the memories with the '
    'largest sum of inner product with the query and weight of their words.';

-- The settings hold inside the function, which calls none that reads, and are restored when it
-- ends.
CREATE OR REPLACE FUNCTION walk_with_words(
    relation text, query @extschema:vector@.halfvec, asked @extschema:vector@.halfvec,
    number integer, all_compared boolean, rare_keys bigint[], keys bigint[], shares float8[],
    keyword_weight float8, b float8, pivot float8,
    OUT ids uuid[], OUT scores float8[], OUT farthest float8, OUT met float8[])
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
    SET hnsw.ef_search = 40
    SET hnsw.iterative_scan = 'off'
    SET enable_seqscan = off
    SET enable_indexscan = on
    SET max_parallel_workers_per_gather = 0
AS $function$
BEGIN
    PERFORM set_config('hnsw.ef_search', number::text, true);
    IF all_compared THEN
        PERFORM set_config('enable_indexscan', 'off', true),
                set_config('enable_seqscan', 'on', true);
    END IF;
    EXECUTE format($$
        WITH near AS MATERIALIZED (
            SELECT memory_id, greatest(-distance, 0) AS nearness, words, bytes,
                   -(position OPERATOR(@extschema:vector@.<#>) $7) AS alike
              FROM ((SELECT *, position OPERATOR(@extschema:vector@.<#>) $1 AS distance
                       FROM %1$I WHERE NOT placed
                      ORDER BY position::@extschema:vector@.halfvec(%2$s)
                               OPERATOR(@extschema:vector@.<#>) $1 LIMIT $2)
                     UNION ALL
                    SELECT *, position OPERATOR(@extschema:vector@.<#>) $1
                      FROM %1$I WHERE placed) every
             ORDER BY distance LIMIT $2
        ), worded AS (
            SELECT memory_id, nearness, words, bytes FROM near
             UNION ALL
            SELECT memory_id, greatest(-(position OPERATOR(@extschema:vector@.<#>) $1), 0), words,
                   bytes
              FROM %1$I
             WHERE words && $3 AND memory_id NOT IN (SELECT memory_id FROM near)
        ), scored AS MATERIALIZED (
            SELECT memory_id, nearness + $6 * CASE WHEN words && $4 THEN (
                       SELECT keyword(sum(share), bytes, $8, $9) FROM unnest(words) had(key)
                         JOIN unnest($4, $5) asked(key, share) USING (key)) ELSE 0 END AS score
              FROM worded
        )
        SELECT array_agg(memory_id ORDER BY score DESC), array_agg(score ORDER BY score DESC),
               (SELECT min(nearness) FROM near),
               (SELECT array_agg(alike ORDER BY alike DESC) FROM near)
          FROM scored $$, relation, @extschema:vector@.vector_dims(query))
        INTO ids, scores, farthest, met
        USING query, number, rare_keys, keys, shares, keyword_weight, asked, b, pivot;
END
$function$;

COMMENT ON FUNCTION walk_with_words IS
    'Does the part of worded_candidates that walks. Returns the memories that it met and those '
    'with rare words, by the largest sum of inner product and weight of their words; the least '
    'inner product that it met; and the inner products with the meaning of the query, largest '
    'first.';

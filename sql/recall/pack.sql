-- A loop, since a recursive query would have to carry arrays from row to row: what is spent on each
-- reserved type, and how near each memory is to those packed.
-- scores: those of hits, best first, and NULL for hits below min_relevance, which come last. Rows
-- beyond scores are turns that only come along with their hits.
CREATE OR REPLACE FUNCTION pack(
    scores float8[], costs integer[], types text[],
    budget integer, most integer, floor float8 DEFAULT 0, max_skips integer DEFAULT 3,
    reserved_types text[] DEFAULT '{}', reserved_shares float8[] DEFAULT '{}',
    alike float8[] DEFAULT NULL, diversity float8 DEFAULT 0, max_similarity float8 DEFAULT NULL,
    hits integer[] DEFAULT '{}', turns integer[] DEFAULT '{}')
    RETURNS TABLE (place integer, verdict text, step integer, near integer)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 60 SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    size integer := coalesce(cardinality(costs), 0);
    hits_in_all integer := coalesce(cardinality(scores), 0);
    ranked integer := (SELECT count(s) FROM unnest(scores) s);
    eligible integer := 0;
    verdicts text[] := array_fill(NULL::text, ARRAY[size]);
    steps integer[] := array_fill(NULL::integer, ARRAY[size]);
    nearest float8[] := array_fill(0::float8, ARRAY[size]);
    nearest_to integer[] := array_fill(NULL::integer, ARRAY[size]);
    -- For each reserved type: what is left of its share, and the tokens of its memories that may
    -- still be packed. What they cannot fill is free for all.
    reserves bigint[] := '{}';
    waiting bigint[] := '{}';
    kept bigint;
    spent bigint := 0;
    taken integer := 0;
    skipped integer := 0;
    looked_at integer := 0;
    asked boolean[] := array_fill(false, ARRAY[size]);
    along integer[] := '{}';
    along_with integer[] := array_fill(NULL::integer, ARRAY[size]);
    comes_along boolean;
    waits boolean;
    leader integer;
    kept_back integer[];
    best float8;
    gain float8;
    this integer;
    reserve integer;
BEGIN
    WHILE eligible < ranked AND scores[eligible + 1] >= floor LOOP
        eligible := eligible + 1;
    END LOOP;
    FOR r IN 1 .. cardinality(reserved_types) LOOP
        reserves[r] := floor(reserved_shares[r] * budget)::bigint;
        waiting[r] := (SELECT coalesce(sum(c), 0)
                         FROM unnest(costs[:eligible], types[:eligible]) u(c, t)
                        WHERE t = reserved_types[r] AND c <= budget);
    END LOOP;
    WHILE taken < most OR along <> '{}' LOOP
        comes_along := along <> '{}';
        IF comes_along THEN
            this := along[1];
            along := along[2:];
            CONTINUE WHEN verdicts[this] IS NOT NULL;
        ELSE
            IF kept_back IS NULL AND (skipped >= max_skips OR looked_at >= eligible) THEN
                -- No further memory is considered: what was reserved and not used is free for all.
                kept_back := ARRAY(SELECT one
                                     FROM unnest(verdicts, steps) WITH ORDINALITY u(v, s, one)
                                    WHERE v = 'reserved' AND one <= ranked ORDER BY s);
                waiting := array_fill(0::bigint, ARRAY[cardinality(reserved_types)]);
            END IF;
            EXIT WHEN cardinality(kept_back) = 0;
            looked_at := looked_at + 1;
            IF kept_back IS NOT NULL THEN
                this := kept_back[1];
                kept_back := kept_back[2:];
            ELSE
                this := looked_at;
                IF diversity > 0 THEN
                    best := NULL;
                    FOR one IN 1 .. eligible LOOP
                        CONTINUE WHEN asked[one];
                        gain := (1 - diversity) * scores[one] - diversity * nearest[one];
                        IF best IS NULL OR gain > best THEN
                            best := gain;
                            this := one;
                        END IF;
                    END LOOP;
                END IF;
                asked[this] := true;
                IF verdicts[this] = 'packed' THEN
                    -- It came along before, and is a hit itself.
                    along_with[this] := NULL;
                    taken := taken + 1;
                    skipped := 0;
                    leader := this;
                    along := ARRAY(SELECT u.turn
                                     FROM unnest(hits, turns) WITH ORDINALITY u(hit, turn, n)
                                    WHERE u.hit = this ORDER BY u.n);
                    CONTINUE;
                END IF;
                steps[this] := looked_at;
            END IF;
        END IF;
        reserve := array_position(reserved_types, types[this]);
        waits := reserve IS NOT NULL AND this <= eligible AND costs[this] <= budget;
        IF waits THEN
            waiting[reserve] := waiting[reserve] - costs[this];
        END IF;
        IF NOT comes_along AND nearest[this] > max_similarity THEN
            verdicts[this] := coalesce(verdicts[this], 'near_duplicate');
            CONTINUE;
        END IF;
        kept := 0;
        FOR r IN 1 .. cardinality(reserved_types) LOOP
            IF r IS DISTINCT FROM reserve THEN
                kept := kept + greatest(least(reserves[r], waiting[r]), 0);
            END IF;
        END LOOP;
        IF spent + costs[this] + kept > budget THEN
            IF comes_along AND this <= hits_in_all THEN
                -- It is a hit itself: it is considered later, or is below a floor.
                IF waits THEN
                    waiting[reserve] := waiting[reserve] + costs[this];
                END IF;
            ELSIF spent + costs[this] > budget THEN
                verdicts[this] := coalesce(verdicts[this], 'too_long');
                skipped := skipped + CASE WHEN comes_along THEN 0 ELSE 1 END;
            ELSE
                -- Not a skip: memories of the reserved type may come later.
                verdicts[this] := 'reserved';
                IF waits THEN
                    waiting[reserve] := waiting[reserve] + costs[this];
                END IF;
            END IF;
            CONTINUE;
        END IF;
        verdicts[this] := 'packed';
        steps[this] := looked_at;
        spent := spent + costs[this];
        IF reserve IS NOT NULL THEN
            reserves[reserve] := reserves[reserve] - costs[this];
        END IF;
        IF comes_along THEN
            along_with[this] := leader;
        ELSE
            taken := taken + 1;
            skipped := 0;
            leader := this;
            along := ARRAY(SELECT u.turn FROM unnest(hits, turns) WITH ORDINALITY u(hit, turn, n)
                           WHERE u.hit = this ORDER BY u.n);
        END IF;
        IF alike IS NOT NULL AND this <= ranked THEN
            FOR one IN 1 .. eligible LOOP
                IF coalesce(verdicts[one], 'reserved') = 'reserved'
                        AND alike[(this - 1) * ranked + one] > nearest[one] THEN
                    nearest[one] := alike[(this - 1) * ranked + one];
                    nearest_to[one] := this;
                END IF;
            END LOOP;
        END IF;
    END LOOP;
    RETURN QUERY
    SELECT p, coalesce(verdicts[p], CASE WHEN scores[p] IS NULL THEN 'min_relevance'
                                         WHEN p > eligible THEN 'min_score'
                                         WHEN taken >= most THEN 'limit'
                                         ELSE 'stopped' END),
           steps[p], CASE verdicts[p] WHEN 'near_duplicate' THEN nearest_to[p]
                                      WHEN 'packed' THEN along_with[p] END
      FROM generate_series(1, size) p
     WHERE p <= hits_in_all OR verdicts[p] IS NOT NULL;
END
$function$;

COMMENT ON FUNCTION pack IS
    'Which of the ranked memories go into a prompt, and why the others do not. Takes the best by '
    'score, or by maximal marginal relevance, until the budget is spent, `most` are packed, or '
    'max_skips in a row did not fit; last come memories held back for a reserve that was not used. '
    'After a hit come those of its turns that fit, in the order of the pairs hits and turns. They '
    'do not count towards `most`, and near is their hit.';

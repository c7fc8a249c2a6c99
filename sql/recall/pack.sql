-- A loop, not a recursive query: what is spent on each reserved type and how near each memory is to
-- those that are in would have to be carried from row to row as arrays.
CREATE OR REPLACE FUNCTION pack(
    scores float8[], costs integer[], types text[],
    budget integer, most integer, floor float8 DEFAULT 0, max_skips integer DEFAULT 3,
    reserved_types text[] DEFAULT '{}', reserved_shares float8[] DEFAULT '{}',
    alike float8[] DEFAULT NULL, diversity float8 DEFAULT 0, max_similarity float8 DEFAULT NULL)
    RETURNS TABLE (place integer, verdict text, step integer, near integer)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 60 SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    size integer := coalesce(cardinality(scores), 0);
    eligible integer := 0;
    verdicts text[] := array_fill(NULL::text, ARRAY[size]);
    steps integer[] := array_fill(NULL::integer, ARRAY[size]);
    nearest float8[] := array_fill(0::float8, ARRAY[size]);
    nearest_to integer[] := array_fill(NULL::integer, ARRAY[size]);
    -- Of each reserved type: what is left of its share, and what memories that may still go in
    -- would take of it. What they cannot fill is free for all.
    reserves bigint[] := '{}';
    waiting bigint[] := '{}';
    kept bigint;
    spent bigint := 0;
    taken integer := 0;
    skipped integer := 0;
    looked_at integer := 0;
    kept_back integer[];
    best float8;
    gain float8;
    this integer;
    reserve integer;
BEGIN
    WHILE eligible < size AND scores[eligible + 1] >= floor LOOP
        eligible := eligible + 1;
    END LOOP;
    FOR r IN 1 .. cardinality(reserved_types) LOOP
        reserves[r] := floor(reserved_shares[r] * budget)::bigint;
        waiting[r] := (SELECT coalesce(sum(c), 0)
                         FROM unnest(costs[:eligible], types[:eligible]) u(c, t)
                        WHERE t = reserved_types[r] AND c <= budget);
    END LOOP;
    WHILE taken < most LOOP
        IF kept_back IS NULL AND (skipped >= max_skips OR looked_at >= eligible) THEN
            -- Nothing else will be looked at: what was kept and not used is free for all.
            kept_back := ARRAY(SELECT one FROM unnest(verdicts, steps) WITH ORDINALITY u(v, s, one)
                                WHERE v = 'reserved' ORDER BY s);
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
                    CONTINUE WHEN steps[one] IS NOT NULL;
                    gain := (1 - diversity) * scores[one] - diversity * nearest[one];
                    IF best IS NULL OR gain > best THEN
                        best := gain;
                        this := one;
                    END IF;
                END LOOP;
            END IF;
            steps[this] := looked_at;
        END IF;
        reserve := array_position(reserved_types, types[this]);
        IF reserve IS NOT NULL AND costs[this] <= budget THEN
            waiting[reserve] := waiting[reserve] - costs[this];
        END IF;
        IF nearest[this] > max_similarity THEN
            verdicts[this] := coalesce(verdicts[this], 'near_duplicate');
            CONTINUE;
        END IF;
        IF spent + costs[this] > budget THEN
            verdicts[this] := coalesce(verdicts[this], 'too_long');
            skipped := skipped + 1;
            CONTINUE;
        END IF;
        kept := 0;
        FOR r IN 1 .. cardinality(reserved_types) LOOP
            IF r IS DISTINCT FROM reserve THEN
                kept := kept + greatest(least(reserves[r], waiting[r]), 0);
            END IF;
        END LOOP;
        IF spent + costs[this] + kept > budget THEN
            -- No skip: what the budget is kept for may be further down.
            verdicts[this] := 'reserved';
            IF reserve IS NOT NULL THEN
                waiting[reserve] := waiting[reserve] + costs[this];
            END IF;
            CONTINUE;
        END IF;
        verdicts[this] := 'packed';
        steps[this] := looked_at;
        taken := taken + 1;
        skipped := 0;
        spent := spent + costs[this];
        IF reserve IS NOT NULL THEN
            reserves[reserve] := reserves[reserve] - costs[this];
        END IF;
        IF alike IS NOT NULL THEN
            FOR one IN 1 .. eligible LOOP
                IF coalesce(verdicts[one], 'reserved') = 'reserved'
                        AND alike[(this - 1) * size + one] > nearest[one] THEN
                    nearest[one] := alike[(this - 1) * size + one];
                    nearest_to[one] := this;
                END IF;
            END LOOP;
        END IF;
    END LOOP;
    RETURN QUERY
    SELECT p, coalesce(verdicts[p], CASE WHEN p > eligible THEN 'min_score'
                                         WHEN taken >= most THEN 'limit'
                                         ELSE 'stopped' END),
           steps[p], CASE WHEN verdicts[p] = 'near_duplicate' THEN nearest_to[p] END
      FROM generate_series(1, size) p;
END
$function$;

COMMENT ON FUNCTION pack IS
    'Which of ranked memories go into a prompt: by score, best first, or by maximal marginal relevance, until the budget is spent, most are in, or max_skips in a row did not fit; last what was kept back for types that did not need it; and why the others do not.';

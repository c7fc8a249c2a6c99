-- Two active memories are the same if they have the same text, memory_type, component and place in
-- a session, and validities that overlap. A memory with a key is the same only as the one with that
-- key.
-- Only the unique index on text and edition keeps two writers apart, no lock. The first memory of a
-- text has edition 0; another one (valid at another time, or of another kind) gets the next number.
-- Of two writers one gets the number; the other waits, looks again and finds the first. Existing
-- memories are locked before another edition is added, and the number is read before the same
-- memory is looked up: one that comes in between is found, and one that comes later has the number.
CREATE OR REPLACE FUNCTION store_memories(
    agent text, memories agent_memories[], duplicates text, near_duplicates float8,
    check_compliance boolean, actor text, metadata jsonb, superseding uuid[] DEFAULT NULL,
    begins timestamptz DEFAULT NULL)
    RETURNS TABLE (ordinal integer, memory_id uuid, outcome text, similarity float8)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    ids uuid[] := require_incoming(
        agent, memories, duplicates, near_duplicates, check_compliance, actor);
    given_from timestamptz := memories[1].valid_from;
    by_text boolean := duplicates <> 'allow';
    stored uuid[];
    done uuid[];
    new agent_memories;
    asked agent_memories;
    same record;
    revives boolean;
    counted uuid[] := '{}';
    said_at timestamptz[] := '{}';
    moment timestamptz := now();
    firsts integer[];
    others integer[];
    hashes bytea[];
    editions integer[];
    one record;
    adds boolean;
BEGIN
    IF cardinality(ids) > 1 THEN
        firsts := ARRAY(SELECT min(i.n) FROM unnest(ids) WITH ORDINALITY i(id, n)
                         GROUP BY i.id ORDER BY min(i.n));
    END IF;
    IF cardinality(firsts) < cardinality(ids) THEN
        -- If several have one id or key, the first is stored, and the outcome of the others is
        -- known.
        RETURN QUERY
        SELECT i.n::integer, r.memory_id,
               CASE WHEN i.n > firsts[r.ordinal] AND r.outcome = 'inserted' THEN 'known'
                    ELSE r.outcome END, r.similarity
          FROM store_memories(agent, ARRAY(SELECT memories[n] FROM unnest(firsts) n), duplicates,
                              near_duplicates, check_compliance, actor, metadata) r
          JOIN unnest(ids) WITH ORDINALITY i(id, n) ON i.id = ids[firsts[r.ordinal]];
        RETURN;
    END IF;
    IF near_duplicates IS NOT NULL THEN
        PERFORM wait_for_writers(agent, 'near_duplicates');
        IF cardinality(memories) > 1 THEN
            FOR n IN 1 .. cardinality(memories) LOOP
                RETURN QUERY SELECT n, r.memory_id, r.outcome, r.similarity
                  FROM store_memories(agent, memories[n:n], duplicates, near_duplicates,
                                      check_compliance, actor, metadata) r;
            END LOOP;
            RETURN;
        END IF;
        SELECT * INTO new FROM with_defaults(agent, memories, ids, 0);
        IF new.embedding IS NOT NULL AND new.session IS NULL AND new.status = 'active'
           AND NOT EXISTS (SELECT FROM agent_memories m WHERE m.agent_id = agent AND m.id = new.id)
           AND (new.key IS NOT NULL OR NOT EXISTS (SELECT FROM same_memory(agent, new))) THEN
            SELECT * INTO same FROM near_memory(agent, new, near_duplicates);
            IF FOUND THEN
                PERFORM FROM agent_memories m
                  WHERE m.agent_id = agent AND m.id = same.memory_id FOR NO KEY UPDATE;
                IF resolve_duplicate(agent, same.memory_id, new, duplicates, false,
                                     same.similarity, actor, NULL, metadata)
                   AND duplicates = 'bump' THEN
                    PERFORM count_retrievals(agent, ARRAY[same.memory_id], ARRAY[new.created_at]);
                END IF;
                RETURN QUERY SELECT 1, same.memory_id, 'near_duplicate', same.similarity;
                RETURN;
            END IF;
        END IF;
    END IF;
    IF superseding IS NOT NULL THEN
        -- Without a valid_from it is valid from `begins` on. The search for the same memory uses
        -- the valid_from of the caller.
        memories[1].valid_from := coalesce(given_from, begins);
    END IF;

    stored := insert_memories(agent, memories, ids, by_text, actor, metadata);
    -- Few owners have superseded memories: for most, this is one lookup in an index.
    IF EXISTS (SELECT FROM agent_memories m
                WHERE m.agent_id = agent AND m.superseded_by IS NOT NULL) THEN
        PERFORM supersede_successors(agent, stored, actor, superseding);
    END IF;
    IF cardinality(stored) = cardinality(ids) THEN
        RETURN QUERY SELECT i.n::integer, i.id, 'inserted', NULL::float8
          FROM unnest(ids) WITH ORDINALITY i(id, n);
        RETURN;
    END IF;
    -- NOT IN becomes a hash table, whatever its size; IN might become a nested loop.
    RETURN QUERY SELECT i.n::integer, i.id, 'inserted', NULL::float8
      FROM unnest(ids) WITH ORDINALITY i(id, n)
     WHERE (i.id NOT IN (SELECT s FROM unnest(stored) s)) = false;

    done := stored;
    hashes := ARRAY(SELECT DISTINCT content_hash(m.content) FROM unnest(memories) m);
    FOR attempt IN 1 .. 5 LOOP
        PERFORM lock_same(agent, hashes);
        IF attempt = 1 AND by_text AND superseding IS NULL AND cardinality(ids) > 1 THEN
            -- Memories that differ in kind from all of their text are stored together, not one by
            -- one.
            others := new_kinds(agent, memories, ids, stored);
            IF others <> '{}' THEN
                editions := ARRAY(SELECT next_edition(agent, content_hash(memories[n].content))
                                    FROM unnest(others) n);
                -- Others may have stored one of them before its edition was read.
                IF others <> new_kinds(agent, memories, ids, stored) THEN
                    CONTINUE;
                END IF;
                stored := insert_memories(
                    agent, ARRAY(SELECT memories[n] FROM unnest(others) n),
                    ARRAY(SELECT ids[n] FROM unnest(others) n), by_text, actor, metadata,
                    editions);
                PERFORM supersede_successors(agent, stored, actor, NULL);
                RETURN QUERY SELECT n, ids[n], 'inserted', NULL::float8 FROM unnest(others) n
                              WHERE (ids[n] NOT IN (SELECT s FROM unnest(stored) s)) = false;
                done := done || stored;
            END IF;
        END IF;
        adds := false;
        FOR one IN
            SELECT m AS new, k.ids AS alike
              FROM with_defaults(agent, memories, ids, CASE WHEN by_text THEN 0 END) m
              -- One query looks them up together, since each would read all memories of its text.
              LEFT JOIN active_kinds(agent, CASE WHEN cardinality(ids) > 1 THEN hashes END) k
                ON k.kind = kind_of(m.content_hash, m.memory_type, m.component, m.session, m.turn,
                                    m.created_at)
             WHERE m.id NOT IN (SELECT s FROM unnest(done) s)
             ORDER BY m.inserted_at LOOP
            new := one.new;
            ordinal := date_part('epoch', new.inserted_at);
            similarity := NULL;
            IF EXISTS (SELECT FROM agent_memories m WHERE m.agent_id = agent AND m.id = new.id) THEN
                memory_id := new.id;
                outcome := 'known';
                done := done || new.id;
                RETURN NEXT;
                CONTINUE;
            END IF;
            IF new.edition IS NOT NULL THEN
                asked := new;
                IF superseding IS NOT NULL THEN
                    asked.valid_from := given_from;
                END IF;
                editions := ARRAY[next_edition(agent, new.content_hash)];
                SELECT * INTO same FROM same_memory(
                    agent, asked, CASE WHEN cardinality(ids) > 1 AND NOT adds
                                       THEN coalesce(one.alike, '{}') END);
                IF FOUND THEN
                    revives := NOT same.recalled AND is_valid(
                        new.valid_from, new.valid_until, NULL, new.expires_at, moment);
                    memory_id := same.memory_id;
                    outcome := CASE WHEN revives THEN 'revived' ELSE 'duplicate' END;
                    similarity := 1;
                    IF resolve_duplicate(agent, same.memory_id, new, duplicates, revives, 1, actor,
                                         superseding, metadata) THEN
                        counted := counted || same.memory_id;
                        said_at := said_at || new.created_at;
                    ELSIF revives THEN
                        -- A repeated write does not revive a memory that was archived since.
                        outcome := 'known';
                        similarity := NULL;
                    END IF;
                    done := done || new.id;
                    RETURN NEXT;
                    CONTINUE;
                END IF;
            END IF;
            CONTINUE WHEN cardinality(insert_memories(
                agent, memories[ordinal:ordinal], ARRAY[new.id], by_text, actor, metadata,
                editions)) = 0;
            adds := true;
            PERFORM supersede_successors(agent, ARRAY[new.id], actor, superseding);
            memory_id := new.id;
            outcome := 'inserted';
            done := done || new.id;
            RETURN NEXT;
        END LOOP;
        EXIT WHEN NOT EXISTS (SELECT FROM unnest(ids) i
                               WHERE i NOT IN (SELECT s FROM unnest(done) s));
    END LOOP;
    IF EXISTS (SELECT FROM unnest(ids) i WHERE i NOT IN (SELECT s FROM unnest(done) s)) THEN
        RAISE EXCEPTION 'others keep adding and removing memories with the same text; repeat the '
            'call' USING ERRCODE = 'serialization_failure';
    END IF;
    -- Counters are locked last: an insert may wait for somebody who waits for a counter.
    IF duplicates = 'bump' THEN
        PERFORM count_retrievals(agent, counted, said_at);
    END IF;
END
$function$;

COMMENT ON FUNCTION store_memories IS
    'Stores memories made by new_memory, as remember_rows describes. '
    'metadata: of the events. superseding: memories that the caller itself supersedes by the only '
    'new one, which begins then if it has no valid_from.';

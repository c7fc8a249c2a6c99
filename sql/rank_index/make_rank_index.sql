-- For maintainers.
-- The build is one transaction, beside the index in use, on the node of the owner (ADR-0053). It
-- waits for another build for this owner. Then it does nothing unless the index in use is the one
-- to replace, which its built_at identifies ('-infinity': none).
CREATE OR REPLACE FUNCTION make_rank_index(
    agent text, built_at timestamptz, at_least bigint DEFAULT 5000, m integer DEFAULT @M@,
    ef_construction integer DEFAULT @EF_CONSTRUCTION@, as_of timestamptz DEFAULT NULL,
    replaces timestamptz DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    relation text;
BEGIN
    IF is_distributed() THEN
        PERFORM share_timeout(agent);
    END IF;
    SELECT make_rank_index_here(agent, built_at, at_least, m, ef_construction, as_of, replaces)
      INTO relation FROM (SELECT count(*) FROM rank_indexes r WHERE r.agent_id = agent) one_row;
    RETURN relation;
END
$function$;

COMMENT ON FUNCTION make_rank_index IS
    'Builds the rank index of an owner from the data that was committed at built_at (see '
    'await_writers) and puts it into use. Returns its main table of positions, or NULL if no '
    'memory is active. Call log_usage after its commit, for uses until then.';

CREATE OR REPLACE FUNCTION make_rank_index_here(
    agent text, built_at timestamptz, at_least bigint, m integer, ef_construction integer,
    as_of timestamptz, replaces timestamptz)
    RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    start timestamptz := clock_timestamp();
    language regconfig := text_language();
    relation text;
    axes @extschema:vector@.halfvec[];
    kept float8;
    there record;
    words record;
    asked record;
    best uuid[];
    likeness float8;
    by_profile jsonb;
    most integer;
    least integer := (@LEVELS@::integer[])[1];
    length integer;
    graph bigint;
    kilobytes bigint;
    seconds float8;
BEGIN
    PERFORM require_owner(agent);
    IF built_at IS NULL OR coalesce(at_least, 0) NOT BETWEEN 1 AND 2147483647 THEN
        RAISE EXCEPTION 'built_at must not be NULL and at_least must lie within 1 and 2147483647, '
            'got % and %', built_at, at_least USING ERRCODE = 'invalid_parameter_value';
    ELSIF coalesce(m, 0) NOT BETWEEN 2 AND 100
          OR coalesce(ef_construction, 0) NOT BETWEEN greatest(4, 2 * m) AND 1000 THEN
        RAISE EXCEPTION 'm must lie within 2 and 100, ef_construction within 4 and 1000 and be at '
            'least twice m, got % and %', m, ef_construction
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF current_setting('transaction_isolation') <> 'read committed' AND now() < built_at THEN
        RAISE EXCEPTION 'an index cannot be built in a % transaction that is under way, which does '
            'not see the writes of others; use READ COMMITTED',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(format(
        'pgrecall rank index %s %s', current_schema(), agent), 0));
    IF replaces <> coalesce((SELECT r.built_at FROM rank_indexes r WHERE r.agent_id = agent),
                            '-infinity') THEN
        RETURN NULL;
    END IF;
    SELECT count(*) AS memories,
           least(max(greatest(e.created_at, u.last_accessed_at)), now()) AS newest
      INTO there
      FROM agent_memories e
      -- OFFSET 0: looked up by key. A join might read all counters of the owner.
      LEFT JOIN LATERAL (
          SELECT c.last_accessed_at FROM memory_usage c
           WHERE c.agent_id = agent AND c.memory_id = e.id
          OFFSET 0) u ON true
     WHERE e.agent_id = agent AND e.status = 'active';
    IF there.memories = 0 THEN
        RETURN NULL;
    END IF;
    IF there.memories > @LARGE@ THEN
        m := greatest(m, @M_OF_LARGE@);
        ef_construction := greatest(ef_construction, 2 * m);
    END IF;
    as_of := coalesce(as_of, least(there.newest, built_at));
    relation := create_positions(agent);
    SELECT p.axes, p.kept INTO axes, kept FROM principal_axes(agent) p;
    EXECUTE format('INSERT INTO %I (memory_id, position, words, bytes) '
                   'SELECT * FROM positions_of($1, $2, $3)', relation)
        USING agent, as_of, axes;
    -- The graph needs this memory while it is built: with less, pgvector becomes many times slower.
    length := coalesce(nullif(cardinality(axes), 0), embedding_dimensions()) + 1 + @SIGNAL_AXES@;
    graph := 2 * length + 32 * m + 256;
    kilobytes := greatest(pg_size_bytes(current_setting('maintenance_work_mem')) / 1024,
                          least(65536 + there.memories * graph * 3 / 2048, 2097152));
    PERFORM index_positions(relation, length, m, ef_construction, kilobytes);
    SELECT array_agg(q.profile ORDER BY q.place) AS profiles,
           array_agg(q.memory_id ORDER BY q.place) AS ids,
           array_agg(q.direction ORDER BY q.place) AS directions,
           array_agg(short_direction(axes, q.direction) ORDER BY q.place) AS short
      INTO asked
      FROM rank_questions(agent, 175) q;
    best := best_by_embedding(agent, relation, asked.ids, asked.directions, @MEASURED_HITS@);
    likeness := usual_likeness(relation, asked.short);
    by_profile := (
        SELECT coalesce(jsonb_object_agg(p.profile, calibrated_candidates(
                   relation, asked.short, best, p.places, likeness, @LEVELS@, p.recall, 0.5)), '{}')
          FROM (SELECT one.profile, array_agg(one.place) AS places,
                       -- Real questions miss more by similarity alone than those of memories do.
                       CASE one.profile WHEN 'alone' THEN 0.99 ELSE 0.985 END AS recall
                  FROM unnest(asked.profiles) WITH ORDINALITY one(profile, place)
                 GROUP BY one.profile) p);
    most := (SELECT max(one.value::integer) FROM jsonb_each(by_profile - 'alone') one);
    SELECT * INTO words FROM common_terms(agent, 256, as_of);
    -- The graph is small, since uses insert into it (ADR-0022).
    PERFORM copy_used_positions(agent, relation, usage_synced_until(as_of, built_at));
    PERFORM index_positions(used_positions(relation), length, 12, 64, kilobytes);
    PERFORM attach_positions(relation, agent);
    seconds := date_part('epoch', clock_timestamp() - start);
    -- The table lock of this statement and that of change_text_language exclude each other.
    INSERT INTO rank_indexes AS r (
        agent_id, relation, space, as_of, built_at, written_until, memories, at_least, m,
        ef_construction, seconds, candidates, candidates_alone, candidates_by_profile, likeness,
        term_memories, common_terms, axes, kept)
    VALUES (
        agent, relation, rank_space(), make_rank_index_here.as_of, make_rank_index_here.built_at,
        make_rank_index_here.built_at, there.memories, make_rank_index_here.at_least,
        make_rank_index_here.m, make_rank_index_here.ef_construction,
        seconds,
        coalesce(most, least),
        coalesce((by_profile -> 'alone')::integer, least), by_profile - 'alone', likeness,
        CASE WHEN text_language() = language THEN words.memories END,
        CASE WHEN text_language() = language THEN words.terms END, axes,
        kept)
        ON CONFLICT (agent_id) DO UPDATE
       SET (relation, space, as_of, built_at, written_until, memories, at_least, m,
            ef_construction, seconds, candidates, candidates_alone, candidates_by_profile,
            likeness, term_memories, common_terms, axes, kept, kept_since)
         = (excluded.relation, excluded.space, excluded.as_of, excluded.built_at,
            excluded.written_until, excluded.memories,
            excluded.at_least, excluded.m, excluded.ef_construction, excluded.seconds,
            excluded.candidates, excluded.candidates_alone, excluded.candidates_by_profile,
            excluded.likeness,
            excluded.term_memories, excluded.common_terms, excluded.axes,
            excluded.kept, excluded.kept_since);
    RETURN relation;
END
$function$;

COMMENT ON FUNCTION make_rank_index_here IS
    'Does the part of make_rank_index that runs on the node of the owner.';

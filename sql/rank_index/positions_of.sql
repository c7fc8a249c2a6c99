-- For maintainers.
-- Exponential decay goes on in the same way after the moment of an index. So a later time has a
-- value above 1 at that moment; not above 2, since a graph of very unequal lengths finds less.
CREATE OR REPLACE FUNCTION recency_at(clock timestamptz, moment timestamptz, rate float8)
    RETURNS float8
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN recency_exponential(clock, moment, rate, 0::float8)
         / greatest(recency_exponential(moment, least(clock, now()), rate, 1::float8), 0.5::float8);

COMMENT ON FUNCTION recency_at IS
    'Returns exp(-rate * days from clock to moment), also for a clock after the moment, up to 2; 0 '
    'without a clock.';

-- The axes are those of rank_index/space.py, each multiplied by the root of its factor. Memories
-- that become valid later are included. The last coordinate makes the lengths of positions half
-- equal: with unequal lengths, queries that rely on similarity find less; with equal ones, queries
-- that rely on other signals do. The rows come in the order of a hash: a graph that is filled from
-- old to new finds much less.
CREATE OR REPLACE FUNCTION positions_of(
    agent text, as_of timestamptz, axes @extschema:vector@.halfvec[], ids uuid[] DEFAULT NULL,
    longest float8 DEFAULT NULL)
    RETURNS TABLE (memory_id uuid, "position" @extschema:vector@.halfvec, words bigint[],
                   bytes integer)
    LANGUAGE plpgsql STABLE ROWS 10000
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_custom_plan
AS $function$
DECLARE
    nowhere @extschema:vector@.vector := on_axes(axes, array_fill(
        0::real, ARRAY[embedding_dimensions()])::@extschema:vector@.vector);
BEGIN
    RETURN QUERY
    SELECT sized.id,
           (sized.meaning
            OPERATOR(@extschema:vector@.||) sized.signals
            OPERATOR(@extschema:vector@.||) ARRAY[
                0.5::float8 * sqrt(
                    greatest(max(sized.squared) OVER (), positions_of.longest) - sized.squared)
            ]::@extschema:vector@.vector)::@extschema:vector@.halfvec,
           sized.words, sized.bytes
      FROM (
        SELECT placed.*,
               -(placed.signals OPERATOR(@extschema:vector@.<#>) placed.signals) AS squared
          FROM (
            SELECT m.id,
                   coalesce(on_axes(axes, @extschema:vector@.l2_normalize(
                                        m.embedding)::@extschema:vector@.vector),
                            nowhere) AS meaning,
                   ARRAY[
                       sqrt(0.24::float8) * m.usefulness,
                       sqrt(0.36::float8) * m.importance,
                       sqrt(0.12::float8) * m.confidence,
                       sqrt(0.1::float8) * coalesce(m.trust, 0::float8),
                       sqrt(0.1::float8) * decayed_trust(
                           m.trust, u.last_accessed_at, days.now, m.trust_curve,
                           m.trust_half_life_hours, 0::float8),
                       sqrt(0.1::float8) * decayed_trust(
                           m.trust, u.last_accessed_at, days.after_7, m.trust_curve,
                           m.trust_half_life_hours, 0::float8),
                       sqrt(0.1::float8) * decayed_trust(
                           m.trust, u.last_accessed_at, days.after_30, m.trust_curve,
                           m.trust_half_life_hours, 0::float8),
                       sqrt(0.07::float8) * recency_at(m.created_at, days.now, ln(2::float8)),
                       sqrt(0.07::float8) * recency_at(m.created_at, days.now, ln(2::float8) / 4),
                       sqrt(0.07::float8) * recency_at(m.created_at, days.now, ln(2::float8) / 14),
                       sqrt(0.07::float8) * recency_at(m.created_at, days.now, ln(2::float8) / 45),
                       sqrt(0.07::float8) * recency_at(m.created_at, days.now, ln(2::float8) / 180),
                       sqrt(0.07::float8) * recency_at(used.at, days.now, ln(2::float8)),
                       sqrt(0.07::float8) * recency_at(used.at, days.now, ln(2::float8) / 4),
                       sqrt(0.07::float8) * recency_at(used.at, days.now, ln(2::float8) / 14),
                       sqrt(0.07::float8) * recency_at(used.at, days.now, ln(2::float8) / 45),
                       sqrt(0.07::float8) * recency_at(used.at, days.now, ln(2::float8) / 180),
                       sqrt(0.08::float8) * recency_exponential(
                           used.at, days.now, used.rate, 0::float8),
                       sqrt(0.08::float8) * recency_exponential(
                           used.at, days.after_7, used.rate, 0::float8),
                       sqrt(0.08::float8) * recency_exponential(
                           used.at, days.after_30, used.rate, 0::float8),
                       sqrt(0.06::float8) * frequency(u.retrieval_count, 20::float8),
                       sqrt(0.06::float8) * frequency(u.retrieval_count, 50::float8),
                       sqrt(0.05::float8) * (m.embedding IS NULL)::integer,
                       sqrt(0.05::float8) * (m.trust IS NULL)::integer,
                       sqrt(0.05::float8) * (m.created_at IS NULL)::integer
                   ]::@extschema:vector@.vector AS signals,
                   term_keys(m.agent_id, m.terms) AS words, octet_length(m.content) AS bytes
              FROM agent_memories m
              -- OFFSET 0: looked up by key. A join might read all counters of the owner.
              LEFT JOIN LATERAL (
                  SELECT c.* FROM memory_usage c
                   WHERE c.agent_id = positions_of.agent AND c.memory_id = m.id
                  OFFSET 0) u ON true
             CROSS JOIN (SELECT positions_of.as_of AS now,
                                positions_of.as_of + interval '168 hours' AS after_7,
                                positions_of.as_of + interval '720 hours' AS after_30) days
             CROSS JOIN LATERAL (
                 SELECT coalesce(u.last_accessed_at, m.created_at) AS at,
                        ln(2::float8) / CASE m.tier WHEN 'short' THEN 0.25::float8
                                             WHEN 'medium' THEN 7::float8
                                             ELSE 90::float8 END AS rate) used
             WHERE m.agent_id = positions_of.agent AND m.status = 'active'
               AND (positions_of.ids IS NULL OR m.id = ANY (positions_of.ids))
               AND (m.valid_until IS NULL OR m.valid_until > positions_of.as_of)
               AND (m.expires_at IS NULL OR m.expires_at > positions_of.as_of)
               AND (m.invalidated_at IS NULL OR m.invalidated_at > positions_of.as_of)
          ) placed
      ) sized
     ORDER BY uuid_hash_extended(sized.id, 42);
END
$function$;

COMMENT ON FUNCTION positions_of IS
    'Returns the positions in the rank space on these axes: of the active memories of an owner, of '
    'all or of these, with the keys of their words and their lengths in bytes. The argument '
    'longest is the square of the greatest length in the table that will hold them.';

-- A question is like a memory that is not there yet. The sum of two embeddings is not: where
-- memories lie in topics, it lies between two of them, and needs three times as many candidates as
-- real questions do. By similarity alone, how much is found differs most from question to question,
-- so there are twice as many of these.
CREATE OR REPLACE FUNCTION rank_questions(agent text, number integer)
    RETURNS TABLE (place bigint, profile text, memory_id uuid, direction text)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    profiles text[] := '{five_factor,last_access,half_life,tiered,trust,alone,alone}';
BEGIN
    RETURN QUERY
    SELECT drawn.place, p.name, drawn.id, rank_direction(p.facts, p.weights, drawn.embedding, 0)
      FROM (SELECT few.*, row_number() OVER (ORDER BY uuid_hash_extended(few.id, 43)) AS place
              FROM (SELECT m.id, m.embedding FROM agent_memories m
                     WHERE m.agent_id = agent AND m.status = 'active' AND m.embedding IS NOT NULL
                     ORDER BY uuid_hash_extended(m.id, 43) LIMIT number) few) drawn
      JOIN (SELECT n.name, n.turn, f.facts, CASE n.name WHEN 'alone' THEN ARRAY(
                       SELECT (s.said ->> 'name' = 'similarity')::integer::float8
                         FROM jsonb_array_elements(f.facts -> 'signals') WITH ORDINALITY
                              s(said, place) ORDER BY s.place)
                   ELSE weights_of(f.facts, NULL, NULL) END AS weights
              FROM unnest(profiles) WITH ORDINALITY n(name, turn),
                   profile_facts(replace(n.name, 'alone', profiles[1])) f(facts)) p
        ON p.turn = 1 + (drawn.place - 1) % cardinality(profiles)
     ORDER BY drawn.place;
END
$function$;

COMMENT ON FUNCTION rank_questions IS
    'Returns directions by which to measure an index, and the memories whose embeddings they have: '
    'of this many memories of the owner, the same each time, by the built-in profiles and by '
    'similarity alone in turn.';

-- Embeddings are read once, and kept in half precision for all directions.
CREATE OR REPLACE FUNCTION best_by_embedding(
    agent text, relation text, ids uuid[], directions text[], hits integer) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    best uuid[];
BEGIN
    IF relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', relation
            USING ERRCODE = 'data_exception';
    END IF;
    EXECUTE format($$
        WITH memories AS MATERIALIZED (
            SELECT p.memory_id AS id,
                   @extschema:vector@.l2_normalize(m.embedding)::@extschema:vector@.halfvec
                   OPERATOR(@extschema:vector@.||) @extschema:vector@.subvector(
                       p.position, @extschema:vector@.vector_dims(p.position) - $3 + 1, $3)
                   AS whole
              FROM %I p JOIN agent_memories m ON m.agent_id = $1 AND m.id = p.memory_id
             WHERE m.embedding IS NOT NULL
        )
        SELECT array_agg(near.id ORDER BY d.place, near.product, near.id)
          FROM unnest($2, $5) WITH ORDINALITY d(direction, id, place)
         CROSS JOIN LATERAL CAST(d.direction AS @extschema:vector@.halfvec) asked
         CROSS JOIN LATERAL (
            SELECT m.id, m.whole OPERATOR(@extschema:vector@.<#>) asked AS product
              FROM memories m
             WHERE m.id <> d.id
             ORDER BY product, m.id LIMIT $4) near $$, relation)
        INTO best USING agent, directions, @SIGNAL_AXES@, hits, ids;
    RETURN best;
END
$function$;

COMMENT ON FUNCTION best_by_embedding IS
    'Returns the best memories of an index by each of these directions, one after the other, with '
    'the whole of their embeddings in place of what positions have of them, and without the memory '
    'whose embedding the direction has.';

--
-- PostgreSQL database dump
--

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: pgrecall; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA pgrecall;

--
-- Name: content_hash(text); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.content_hash(content text) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN sha256(convert_to(lower(btrim(regexp_replace(NORMALIZE(content, NFC), '\s+'::text, ' '::text, 'g'::text))), 'UTF8'::name));

--
-- Name: FUNCTION content_hash(content text); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.content_hash(content text) IS 'SHA-256 of the normalised text: NFC, lower case, white space collapsed and trimmed.';

--
-- Name: decayed_trust(double precision, timestamp with time zone, timestamp with time zone, text, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.decayed_trust(trust double precision, clock timestamp with time zone, as_of timestamp with time zone, curve text, half_life_hours double precision, missing double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (trust IS NULL) THEN missing WHEN ((clock IS NULL) OR (clock >= as_of)) THEN trust ELSE (trust * CASE curve WHEN 'exponential'::text THEN exp(GREATEST((((- (0.6931471805599453)::double precision) * (date_part('epoch'::text, (as_of - clock)) / (3600)::double precision)) / COALESCE(half_life_hours, (168)::double precision)), (- (400)::double precision))) WHEN 'linear'::text THEN GREATEST((0)::double precision, ((1)::double precision - ((date_part('epoch'::text, (as_of - clock)) / (3600)::double precision) / ((2)::double precision * COALESCE(half_life_hours, (168)::double precision))))) ELSE ((1)::double precision / ((1)::double precision + ((date_part('epoch'::text, (as_of - clock)) / (3600)::double precision) / COALESCE(half_life_hours, (168)::double precision)))) END) END;

--
-- Name: FUNCTION decayed_trust(trust double precision, clock timestamp with time zone, as_of timestamp with time zone, curve text, half_life_hours double precision, missing double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.decayed_trust(trust double precision, clock timestamp with time zone, as_of timestamp with time zone, curve text, half_life_hours double precision, missing double precision) IS 'Trust after decay since clock by the row''s curve (hyperbolic, 168 hours where unknown); no clock, no decay; missing where never assessed.';

--
-- Name: entity_overlap(text[], text[]); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.entity_overlap(entities text[], query text[]) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (entities && query) THEN ((((((COALESCE((((query)[1] = ANY (entities)))::integer, 0) + COALESCE((((query)[2] = ANY (entities)))::integer, 0)) + COALESCE((((query)[3] = ANY (entities)))::integer, 0)) + COALESCE((((query)[4] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[5] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[5] = ANY (entities)))::integer, 0) + COALESCE((((query)[6] = ANY (entities)))::integer, 0)) + COALESCE((((query)[7] = ANY (entities)))::integer, 0)) + COALESCE((((query)[8] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[9] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[9] = ANY (entities)))::integer, 0) + COALESCE((((query)[10] = ANY (entities)))::integer, 0)) + COALESCE((((query)[11] = ANY (entities)))::integer, 0)) + COALESCE((((query)[12] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[13] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[13] = ANY (entities)))::integer, 0) + COALESCE((((query)[14] = ANY (entities)))::integer, 0)) + COALESCE((((query)[15] = ANY (entities)))::integer, 0)) + COALESCE((((query)[16] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[17] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[17] = ANY (entities)))::integer, 0) + COALESCE((((query)[18] = ANY (entities)))::integer, 0)) + COALESCE((((query)[19] = ANY (entities)))::integer, 0)) + COALESCE((((query)[20] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[21] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[21] = ANY (entities)))::integer, 0) + COALESCE((((query)[22] = ANY (entities)))::integer, 0)) + COALESCE((((query)[23] = ANY (entities)))::integer, 0)) + COALESCE((((query)[24] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[25] IS NULL) THEN 0 ELSE ((((COALESCE((((query)[25] = ANY (entities)))::integer, 0) + COALESCE((((query)[26] = ANY (entities)))::integer, 0)) + COALESCE((((query)[27] = ANY (entities)))::integer, 0)) + COALESCE((((query)[28] = ANY (entities)))::integer, 0)) + CASE WHEN ((query)[29] IS NULL) THEN 0 ELSE (((COALESCE((((query)[29] = ANY (entities)))::integer, 0) + COALESCE((((query)[30] = ANY (entities)))::integer, 0)) + COALESCE((((query)[31] = ANY (entities)))::integer, 0)) + COALESCE((((query)[32] = ANY (entities)))::integer, 0)) END) END) END) END) END) END) END))::double precision / (cardinality(query))::double precision) ELSE (0)::double precision END;

--
-- Name: FUNCTION entity_overlap(entities text[], query text[]); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.entity_overlap(entities text[], query text[]) IS 'Share of the query''s entities that the memory has; the query holds at most 32, each once; 0 without any.';

--
-- Name: frequency(integer, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.frequency(retrieval_count integer, cap double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN LEAST(((COALESCE(retrieval_count, 0))::double precision / cap), (1)::double precision);

--
-- Name: FUNCTION frequency(retrieval_count integer, cap double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.frequency(retrieval_count integer, cap double precision) IS 'Retrievals as a share of cap, at most 1; a memory never retrieved has 0.';

--
-- Name: is_valid(timestamp with time zone, timestamp with time zone, timestamp with time zone, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.is_valid(valid_from timestamp with time zone, valid_until timestamp with time zone, invalidated_at timestamp with time zone, expires_at timestamp with time zone, as_of timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((valid_from IS NULL) OR (valid_from <= as_of)) AND ((valid_until IS NULL) OR (valid_until > as_of)) AND ((invalidated_at IS NULL) OR (invalidated_at > as_of)) AND ((expires_at IS NULL) OR (expires_at > as_of)));

--
-- Name: FUNCTION is_valid(valid_from timestamp with time zone, valid_until timestamp with time zone, invalidated_at timestamp with time zone, expires_at timestamp with time zone, as_of timestamp with time zone); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.is_valid(valid_from timestamp with time zone, valid_until timestamp with time zone, invalidated_at timestamp with time zone, expires_at timestamp with time zone, as_of timestamp with time zone) IS 'Whether a memory holds at as_of: inside [valid_from, valid_until), not invalidated, not expired.';

--
-- Name: recall_five_factor(text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text[], text[], boolean, double precision, double precision, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_five_factor(agent text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, similarity_weight double precision DEFAULT 0.4, recency_weight double precision DEFAULT 0.25, usefulness_weight double precision DEFAULT 0.2, confidence_weight double precision DEFAULT 0.1, frequency_weight double precision DEFAULT 0.05) RETURNS TABLE(agent_id text, team_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_similarity double precision, signal_recency double precision, signal_usefulness double precision, signal_confidence double precision, signal_frequency double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'public'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND (usefulness_weight = 0 OR usefulness_weight >= 1e-12::float8)
        AND (confidence_weight = 0 OR confidence_weight >= 1e-12::float8)
        AND (frequency_weight = 0 OR frequency_weight >= 1e-12::float8)
        AND abs(similarity_weight + recency_weight + usefulness_weight + confidence_weight + frequency_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', similarity_weight + recency_weight + usefulness_weight + confidence_weight + frequency_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query <=> query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT * FROM (
            SELECT m.agent_id AS owner_id, m.id, false AS of_team,
                   similarity_weight * similarity(m.embedding, query, 0.0)
                   + recency_weight * recency_exponential(m.created_at, moment, 0.05, 0.5)
                   + usefulness_weight * m.usefulness
                   + confidence_weight * m.confidence
                   + frequency_weight * frequency(u.retrieval_count, 50) AS score
              FROM agent_memories m
              LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
             WHERE m.agent_id = agent
               AND (include_invalid OR is_valid(
                      m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
               AND (recall_five_factor.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
               AND m.status = ANY (statuses)
               AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                    OR m.additional_types && memory_types)
               AND (tiers IS NULL OR m.tier = ANY (tiers))
               AND (recall_five_factor.tags IS NULL OR m.tags && recall_five_factor.tags)
               AND (all_tags IS NULL OR m.tags @> all_tags)
               AND (recall_five_factor.entities IS NULL OR m.entities && recall_five_factor.entities)
               AND (all_entities IS NULL OR m.entities @> all_entities)
               AND (recall_five_factor.metadata IS NULL OR m.metadata @> recall_five_factor.metadata)
               AND (created_after IS NULL OR m.created_at >= created_after)
               AND (created_before IS NULL OR m.created_at < created_before)
               AND (components IS NULL OR m.component = ANY (components))
               AND (output_types IS NULL OR m.output_type = ANY (output_types))
               AND (domains IS NULL OR m.domain = ANY (domains))
               AND (categories IS NULL OR m.category = ANY (categories))
               AND (loops IS NULL OR m.loop = ANY (loops))
               AND (recall_five_factor.compliant IS NULL OR m.compliant = recall_five_factor.compliant)
               AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
               AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
             ORDER BY score DESC, m.id
             LIMIT k) own
        UNION ALL
        SELECT * FROM (
            SELECT m.team_id AS owner_id, m.id, true AS of_team,
                   similarity_weight * similarity(m.embedding, query, 0.0)
                   + recency_weight * recency_exponential(m.created_at, moment, 0.05, 0.5)
                   + usefulness_weight * m.usefulness
                   + confidence_weight * m.confidence
                   + frequency_weight * frequency(u.retrieval_count, 50) AS score
              FROM team_memories m
              LEFT JOIN memory_usage u ON u.agent_id = m.team_id AND u.memory_id = m.id
             WHERE m.team_id = ANY (teams)
               AND (include_invalid OR is_valid(
                      m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
               AND (recall_five_factor.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
               AND m.status = ANY (statuses)
               AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                    OR m.additional_types && memory_types)
               AND (tiers IS NULL OR m.tier = ANY (tiers))
               AND (recall_five_factor.tags IS NULL OR m.tags && recall_five_factor.tags)
               AND (all_tags IS NULL OR m.tags @> all_tags)
               AND (recall_five_factor.entities IS NULL OR m.entities && recall_five_factor.entities)
               AND (all_entities IS NULL OR m.entities @> all_entities)
               AND (recall_five_factor.metadata IS NULL OR m.metadata @> recall_five_factor.metadata)
               AND (created_after IS NULL OR m.created_at >= created_after)
               AND (created_before IS NULL OR m.created_at < created_before)
               AND (components IS NULL OR m.component = ANY (components))
               AND (output_types IS NULL OR m.output_type = ANY (output_types))
               AND (domains IS NULL OR m.domain = ANY (domains))
               AND (categories IS NULL OR m.category = ANY (categories))
               AND (loops IS NULL OR m.loop = ANY (loops))
               AND (recall_five_factor.compliant IS NULL OR m.compliant = recall_five_factor.compliant)
               AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
               AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
             ORDER BY score DESC, m.id
             LIMIT k) theirs
        ORDER BY score DESC, id
        LIMIT k
    )
    SELECT m.agent_id, NULL::text AS team_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.0),
           recency_exponential(m.created_at, moment, 0.05, 0.5),
           m.usefulness,
           m.confidence,
           frequency(u.retrieval_count, 50)
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.owner_id AND m.id = r.id
      LEFT JOIN memory_usage u ON u.agent_id = r.owner_id AND u.memory_id = r.id
     WHERE NOT r.of_team AND (min_score IS NULL OR r.score >= min_score)
    UNION ALL
    SELECT NULL::text, m.team_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.0),
           recency_exponential(m.created_at, moment, 0.05, 0.5),
           m.usefulness,
           m.confidence,
           frequency(u.retrieval_count, 50)
      FROM ranked r
      JOIN team_memories m ON m.team_id = r.owner_id AND m.id = r.id
      LEFT JOIN memory_usage u ON u.agent_id = r.owner_id AND u.memory_id = r.id
     WHERE r.of_team AND (min_score IS NULL OR r.score >= min_score)
    ORDER BY score DESC, id;
END
$$;

--
-- Name: FUNCTION recall_five_factor(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, usefulness_weight double precision, confidence_weight double precision, frequency_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_five_factor(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, usefulness_weight double precision, confidence_weight double precision, frequency_weight double precision) IS 'The k best memories of an agent by the profile five_factor: 0.4 similarity + 0.25 recency + 0.2 usefulness + 0.1 confidence + 0.05 frequency.';

--
-- Name: recall_half_life(text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text[], text[], boolean, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_half_life(agent text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, similarity_weight double precision DEFAULT 0.4, recency_weight double precision DEFAULT 0.3, importance_weight double precision DEFAULT 0.3) RETURNS TABLE(agent_id text, team_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_similarity double precision, signal_recency double precision, signal_importance double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'public'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND (importance_weight = 0 OR importance_weight >= 1e-12::float8)
        AND abs(similarity_weight + recency_weight + importance_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', similarity_weight + recency_weight + importance_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query <=> query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT * FROM (
            SELECT m.agent_id AS owner_id, m.id, false AS of_team,
                   similarity_weight * similarity(m.embedding, query, 0.5)
                   + recency_weight * recency_exponential(greatest(u.last_accessed_at, m.created_at), moment, 0.049510512897138946, 0.5)
                   + importance_weight * m.importance AS score
              FROM agent_memories m
              LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
             WHERE m.agent_id = agent
               AND (include_invalid OR is_valid(
                      m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
               AND (recall_half_life.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
               AND m.status = ANY (statuses)
               AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                    OR m.additional_types && memory_types)
               AND (tiers IS NULL OR m.tier = ANY (tiers))
               AND (recall_half_life.tags IS NULL OR m.tags && recall_half_life.tags)
               AND (all_tags IS NULL OR m.tags @> all_tags)
               AND (recall_half_life.entities IS NULL OR m.entities && recall_half_life.entities)
               AND (all_entities IS NULL OR m.entities @> all_entities)
               AND (recall_half_life.metadata IS NULL OR m.metadata @> recall_half_life.metadata)
               AND (created_after IS NULL OR m.created_at >= created_after)
               AND (created_before IS NULL OR m.created_at < created_before)
               AND (components IS NULL OR m.component = ANY (components))
               AND (output_types IS NULL OR m.output_type = ANY (output_types))
               AND (domains IS NULL OR m.domain = ANY (domains))
               AND (categories IS NULL OR m.category = ANY (categories))
               AND (loops IS NULL OR m.loop = ANY (loops))
               AND (recall_half_life.compliant IS NULL OR m.compliant = recall_half_life.compliant)
               AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
               AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
             ORDER BY score DESC, m.id
             LIMIT k) own
        UNION ALL
        SELECT * FROM (
            SELECT m.team_id AS owner_id, m.id, true AS of_team,
                   similarity_weight * similarity(m.embedding, query, 0.5)
                   + recency_weight * recency_exponential(greatest(u.last_accessed_at, m.created_at), moment, 0.049510512897138946, 0.5)
                   + importance_weight * m.importance AS score
              FROM team_memories m
              LEFT JOIN memory_usage u ON u.agent_id = m.team_id AND u.memory_id = m.id
             WHERE m.team_id = ANY (teams)
               AND (include_invalid OR is_valid(
                      m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
               AND (recall_half_life.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
               AND m.status = ANY (statuses)
               AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                    OR m.additional_types && memory_types)
               AND (tiers IS NULL OR m.tier = ANY (tiers))
               AND (recall_half_life.tags IS NULL OR m.tags && recall_half_life.tags)
               AND (all_tags IS NULL OR m.tags @> all_tags)
               AND (recall_half_life.entities IS NULL OR m.entities && recall_half_life.entities)
               AND (all_entities IS NULL OR m.entities @> all_entities)
               AND (recall_half_life.metadata IS NULL OR m.metadata @> recall_half_life.metadata)
               AND (created_after IS NULL OR m.created_at >= created_after)
               AND (created_before IS NULL OR m.created_at < created_before)
               AND (components IS NULL OR m.component = ANY (components))
               AND (output_types IS NULL OR m.output_type = ANY (output_types))
               AND (domains IS NULL OR m.domain = ANY (domains))
               AND (categories IS NULL OR m.category = ANY (categories))
               AND (loops IS NULL OR m.loop = ANY (loops))
               AND (recall_half_life.compliant IS NULL OR m.compliant = recall_half_life.compliant)
               AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
               AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
             ORDER BY score DESC, m.id
             LIMIT k) theirs
        ORDER BY score DESC, id
        LIMIT k
    )
    SELECT m.agent_id, NULL::text AS team_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.5),
           recency_exponential(greatest(u.last_accessed_at, m.created_at), moment, 0.049510512897138946, 0.5),
           m.importance
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.owner_id AND m.id = r.id
      LEFT JOIN memory_usage u ON u.agent_id = r.owner_id AND u.memory_id = r.id
     WHERE NOT r.of_team AND (min_score IS NULL OR r.score >= min_score)
    UNION ALL
    SELECT NULL::text, m.team_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.5),
           recency_exponential(greatest(u.last_accessed_at, m.created_at), moment, 0.049510512897138946, 0.5),
           m.importance
      FROM ranked r
      JOIN team_memories m ON m.team_id = r.owner_id AND m.id = r.id
      LEFT JOIN memory_usage u ON u.agent_id = r.owner_id AND u.memory_id = r.id
     WHERE r.of_team AND (min_score IS NULL OR r.score >= min_score)
    ORDER BY score DESC, id;
END
$$;

--
-- Name: FUNCTION recall_half_life(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, importance_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_half_life(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, importance_weight double precision) IS 'The k best memories of an agent by the profile half_life: 0.4 similarity + 0.3 recency + 0.3 importance.';

--
-- Name: recall_last_access(text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text[], text[], boolean, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_last_access(agent text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, similarity_weight double precision DEFAULT 0.5, importance_weight double precision DEFAULT 0.3, recency_weight double precision DEFAULT 0.2) RETURNS TABLE(agent_id text, team_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_similarity double precision, signal_importance double precision, signal_recency double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'public'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (importance_weight = 0 OR importance_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND abs(similarity_weight + importance_weight + recency_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', similarity_weight + importance_weight + recency_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query <=> query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT * FROM (
            SELECT m.agent_id AS owner_id, m.id, false AS of_team,
                   similarity_weight * similarity(m.embedding, query, 0.0)
                   + importance_weight * m.importance
                   + recency_weight * recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, 0.05, 0.5) AS score
              FROM agent_memories m
              LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
             WHERE m.agent_id = agent
               AND (include_invalid OR is_valid(
                      m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
               AND (recall_last_access.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
               AND m.status = ANY (statuses)
               AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                    OR m.additional_types && memory_types)
               AND (tiers IS NULL OR m.tier = ANY (tiers))
               AND (recall_last_access.tags IS NULL OR m.tags && recall_last_access.tags)
               AND (all_tags IS NULL OR m.tags @> all_tags)
               AND (recall_last_access.entities IS NULL OR m.entities && recall_last_access.entities)
               AND (all_entities IS NULL OR m.entities @> all_entities)
               AND (recall_last_access.metadata IS NULL OR m.metadata @> recall_last_access.metadata)
               AND (created_after IS NULL OR m.created_at >= created_after)
               AND (created_before IS NULL OR m.created_at < created_before)
               AND (components IS NULL OR m.component = ANY (components))
               AND (output_types IS NULL OR m.output_type = ANY (output_types))
               AND (domains IS NULL OR m.domain = ANY (domains))
               AND (categories IS NULL OR m.category = ANY (categories))
               AND (loops IS NULL OR m.loop = ANY (loops))
               AND (recall_last_access.compliant IS NULL OR m.compliant = recall_last_access.compliant)
               AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
               AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
               AND (query IS NULL OR m.embedding IS NOT NULL)
             ORDER BY score DESC, m.id
             LIMIT k) own
        UNION ALL
        SELECT * FROM (
            SELECT m.team_id AS owner_id, m.id, true AS of_team,
                   similarity_weight * similarity(m.embedding, query, 0.0)
                   + importance_weight * m.importance
                   + recency_weight * recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, 0.05, 0.5) AS score
              FROM team_memories m
              LEFT JOIN memory_usage u ON u.agent_id = m.team_id AND u.memory_id = m.id
             WHERE m.team_id = ANY (teams)
               AND (include_invalid OR is_valid(
                      m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
               AND (recall_last_access.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
               AND m.status = ANY (statuses)
               AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                    OR m.additional_types && memory_types)
               AND (tiers IS NULL OR m.tier = ANY (tiers))
               AND (recall_last_access.tags IS NULL OR m.tags && recall_last_access.tags)
               AND (all_tags IS NULL OR m.tags @> all_tags)
               AND (recall_last_access.entities IS NULL OR m.entities && recall_last_access.entities)
               AND (all_entities IS NULL OR m.entities @> all_entities)
               AND (recall_last_access.metadata IS NULL OR m.metadata @> recall_last_access.metadata)
               AND (created_after IS NULL OR m.created_at >= created_after)
               AND (created_before IS NULL OR m.created_at < created_before)
               AND (components IS NULL OR m.component = ANY (components))
               AND (output_types IS NULL OR m.output_type = ANY (output_types))
               AND (domains IS NULL OR m.domain = ANY (domains))
               AND (categories IS NULL OR m.category = ANY (categories))
               AND (loops IS NULL OR m.loop = ANY (loops))
               AND (recall_last_access.compliant IS NULL OR m.compliant = recall_last_access.compliant)
               AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
               AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
               AND (query IS NULL OR m.embedding IS NOT NULL)
             ORDER BY score DESC, m.id
             LIMIT k) theirs
        ORDER BY score DESC, id
        LIMIT k
    )
    SELECT m.agent_id, NULL::text AS team_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.0),
           m.importance,
           recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, 0.05, 0.5)
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.owner_id AND m.id = r.id
      LEFT JOIN memory_usage u ON u.agent_id = r.owner_id AND u.memory_id = r.id
     WHERE NOT r.of_team AND (min_score IS NULL OR r.score >= min_score)
    UNION ALL
    SELECT NULL::text, m.team_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.0),
           m.importance,
           recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, 0.05, 0.5)
      FROM ranked r
      JOIN team_memories m ON m.team_id = r.owner_id AND m.id = r.id
      LEFT JOIN memory_usage u ON u.agent_id = r.owner_id AND u.memory_id = r.id
     WHERE r.of_team AND (min_score IS NULL OR r.score >= min_score)
    ORDER BY score DESC, id;
END
$$;

--
-- Name: FUNCTION recall_last_access(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, importance_weight double precision, recency_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_last_access(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, importance_weight double precision, recency_weight double precision) IS 'The k best memories of an agent by the profile last_access: 0.5 similarity + 0.3 importance + 0.2 recency.';

--
-- Name: recall_tiered(text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text[], text[], boolean, double precision, double precision, double precision, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_tiered(agent text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, similarity_weight double precision DEFAULT 0.4, recency_weight double precision DEFAULT 0.2, importance_weight double precision DEFAULT 0.15, frequency_weight double precision DEFAULT 0.1, usefulness_weight double precision DEFAULT 0.1, entity_overlap_weight double precision DEFAULT 0.05) RETURNS TABLE(agent_id text, team_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_similarity double precision, signal_recency double precision, signal_importance double precision, signal_frequency double precision, signal_usefulness double precision, signal_entity_overlap double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'public'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND (importance_weight = 0 OR importance_weight >= 1e-12::float8)
        AND (frequency_weight = 0 OR frequency_weight >= 1e-12::float8)
        AND (usefulness_weight = 0 OR usefulness_weight >= 1e-12::float8)
        AND (entity_overlap_weight = 0 OR entity_overlap_weight >= 1e-12::float8)
        AND abs(similarity_weight + recency_weight + importance_weight + frequency_weight + usefulness_weight + entity_overlap_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', similarity_weight + recency_weight + importance_weight + frequency_weight + usefulness_weight + entity_overlap_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query <=> query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT * FROM (
            SELECT m.agent_id AS owner_id, m.id, false AS of_team,
                   similarity_weight * similarity(m.embedding, query, 0.0)
                   + recency_weight * recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, CASE WHEN (m.tier = 'short') THEN 2.772588722239781 WHEN (m.tier = 'medium') THEN 0.09902102579427789 WHEN (m.tier = 'long') THEN 0.007701635339554948 ELSE 0.007701635339554948 END, 0.5)
                   + importance_weight * m.importance
                   + frequency_weight * frequency(u.retrieval_count, 20)
                   + usefulness_weight * m.usefulness
                   + entity_overlap_weight * entity_overlap(m.entities, query_entities) AS score
              FROM agent_memories m
              LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
             WHERE m.agent_id = agent
               AND (include_invalid OR is_valid(
                      m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
               AND (recall_tiered.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
               AND m.status = ANY (statuses)
               AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                    OR m.additional_types && memory_types)
               AND (tiers IS NULL OR m.tier = ANY (tiers))
               AND (recall_tiered.tags IS NULL OR m.tags && recall_tiered.tags)
               AND (all_tags IS NULL OR m.tags @> all_tags)
               AND (recall_tiered.entities IS NULL OR m.entities && recall_tiered.entities)
               AND (all_entities IS NULL OR m.entities @> all_entities)
               AND (recall_tiered.metadata IS NULL OR m.metadata @> recall_tiered.metadata)
               AND (created_after IS NULL OR m.created_at >= created_after)
               AND (created_before IS NULL OR m.created_at < created_before)
               AND (components IS NULL OR m.component = ANY (components))
               AND (output_types IS NULL OR m.output_type = ANY (output_types))
               AND (domains IS NULL OR m.domain = ANY (domains))
               AND (categories IS NULL OR m.category = ANY (categories))
               AND (loops IS NULL OR m.loop = ANY (loops))
               AND (recall_tiered.compliant IS NULL OR m.compliant = recall_tiered.compliant)
               AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
               AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
             ORDER BY score DESC, m.id
             LIMIT k) own
        UNION ALL
        SELECT * FROM (
            SELECT m.team_id AS owner_id, m.id, true AS of_team,
                   similarity_weight * similarity(m.embedding, query, 0.0)
                   + recency_weight * recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, CASE WHEN (m.tier = 'short') THEN 2.772588722239781 WHEN (m.tier = 'medium') THEN 0.09902102579427789 WHEN (m.tier = 'long') THEN 0.007701635339554948 ELSE 0.007701635339554948 END, 0.5)
                   + importance_weight * m.importance
                   + frequency_weight * frequency(u.retrieval_count, 20)
                   + usefulness_weight * m.usefulness
                   + entity_overlap_weight * entity_overlap(m.entities, query_entities) AS score
              FROM team_memories m
              LEFT JOIN memory_usage u ON u.agent_id = m.team_id AND u.memory_id = m.id
             WHERE m.team_id = ANY (teams)
               AND (include_invalid OR is_valid(
                      m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
               AND (recall_tiered.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
               AND m.status = ANY (statuses)
               AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                    OR m.additional_types && memory_types)
               AND (tiers IS NULL OR m.tier = ANY (tiers))
               AND (recall_tiered.tags IS NULL OR m.tags && recall_tiered.tags)
               AND (all_tags IS NULL OR m.tags @> all_tags)
               AND (recall_tiered.entities IS NULL OR m.entities && recall_tiered.entities)
               AND (all_entities IS NULL OR m.entities @> all_entities)
               AND (recall_tiered.metadata IS NULL OR m.metadata @> recall_tiered.metadata)
               AND (created_after IS NULL OR m.created_at >= created_after)
               AND (created_before IS NULL OR m.created_at < created_before)
               AND (components IS NULL OR m.component = ANY (components))
               AND (output_types IS NULL OR m.output_type = ANY (output_types))
               AND (domains IS NULL OR m.domain = ANY (domains))
               AND (categories IS NULL OR m.category = ANY (categories))
               AND (loops IS NULL OR m.loop = ANY (loops))
               AND (recall_tiered.compliant IS NULL OR m.compliant = recall_tiered.compliant)
               AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
               AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
             ORDER BY score DESC, m.id
             LIMIT k) theirs
        ORDER BY score DESC, id
        LIMIT k
    )
    SELECT m.agent_id, NULL::text AS team_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.0),
           recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, CASE WHEN (m.tier = 'short') THEN 2.772588722239781 WHEN (m.tier = 'medium') THEN 0.09902102579427789 WHEN (m.tier = 'long') THEN 0.007701635339554948 ELSE 0.007701635339554948 END, 0.5),
           m.importance,
           frequency(u.retrieval_count, 20),
           m.usefulness,
           entity_overlap(m.entities, query_entities)
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.owner_id AND m.id = r.id
      LEFT JOIN memory_usage u ON u.agent_id = r.owner_id AND u.memory_id = r.id
     WHERE NOT r.of_team AND (min_score IS NULL OR r.score >= min_score)
    UNION ALL
    SELECT NULL::text, m.team_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.0),
           recency_exponential(coalesce(u.last_accessed_at, m.created_at), moment, CASE WHEN (m.tier = 'short') THEN 2.772588722239781 WHEN (m.tier = 'medium') THEN 0.09902102579427789 WHEN (m.tier = 'long') THEN 0.007701635339554948 ELSE 0.007701635339554948 END, 0.5),
           m.importance,
           frequency(u.retrieval_count, 20),
           m.usefulness,
           entity_overlap(m.entities, query_entities)
      FROM ranked r
      JOIN team_memories m ON m.team_id = r.owner_id AND m.id = r.id
      LEFT JOIN memory_usage u ON u.agent_id = r.owner_id AND u.memory_id = r.id
     WHERE r.of_team AND (min_score IS NULL OR r.score >= min_score)
    ORDER BY score DESC, id;
END
$$;

--
-- Name: FUNCTION recall_tiered(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, importance_weight double precision, frequency_weight double precision, usefulness_weight double precision, entity_overlap_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_tiered(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, teams text[], query_entities text[], apply_decay boolean, similarity_weight double precision, recency_weight double precision, importance_weight double precision, frequency_weight double precision, usefulness_weight double precision, entity_overlap_weight double precision) IS 'The k best memories of an agent by the profile tiered: 0.4 similarity + 0.2 recency + 0.15 importance + 0.1 frequency + 0.1 usefulness + 0.05 entity_overlap.';

--
-- Name: recall_trust(text, public.vector, integer, timestamp with time zone, double precision, double precision, text[], text[], text[], text[], text[], text[], jsonb, timestamp with time zone, timestamp with time zone, text[], text[], text[], text[], text[], boolean, double precision, text[], boolean, text[], text[], boolean, double precision, double precision, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recall_trust(agent text, query public.vector DEFAULT NULL::public.vector, k integer DEFAULT 10, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, min_score double precision DEFAULT NULL::double precision, min_similarity double precision DEFAULT NULL::double precision, memory_types text[] DEFAULT NULL::text[], tiers text[] DEFAULT NULL::text[], tags text[] DEFAULT NULL::text[], all_tags text[] DEFAULT NULL::text[], entities text[] DEFAULT NULL::text[], all_entities text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, components text[] DEFAULT NULL::text[], output_types text[] DEFAULT NULL::text[], domains text[] DEFAULT NULL::text[], categories text[] DEFAULT NULL::text[], loops text[] DEFAULT NULL::text[], compliant boolean DEFAULT NULL::boolean, min_trust double precision DEFAULT NULL::double precision, statuses text[] DEFAULT '{active}'::text[], include_invalid boolean DEFAULT false, teams text[] DEFAULT NULL::text[], query_entities text[] DEFAULT NULL::text[], apply_decay boolean DEFAULT true, trust_weight double precision DEFAULT 0.4, similarity_weight double precision DEFAULT 0.35, recency_weight double precision DEFAULT 0.15, importance_weight double precision DEFAULT 0.1) RETURNS TABLE(agent_id text, team_id text, id uuid, content text, memory_type text, created_at timestamp with time zone, score double precision, similarity double precision, signal_trust double precision, signal_similarity double precision, signal_recency double precision, signal_importance double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pgrecall', 'public'
    AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((trust_weight = 0 OR trust_weight >= 1e-12::float8)
        AND (similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND (importance_weight = 0 OR importance_weight >= 1e-12::float8)
        AND abs(trust_weight + similarity_weight + recency_weight + importance_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', trust_weight + similarity_weight + recency_weight + importance_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query <=> query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT * FROM (
            SELECT m.agent_id AS owner_id, m.id, false AS of_team,
                   trust_weight * CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END
                   + similarity_weight * similarity(m.embedding, query, 0.0)
                   + recency_weight * recency_hyperbolic(m.created_at, moment, 7, 0.5)
                   + importance_weight * m.importance AS score
              FROM agent_memories m
              LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
             WHERE m.agent_id = agent
               AND (include_invalid OR is_valid(
                      m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
               AND (recall_trust.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
               AND m.status = ANY (statuses)
               AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                    OR m.additional_types && memory_types)
               AND (tiers IS NULL OR m.tier = ANY (tiers))
               AND (recall_trust.tags IS NULL OR m.tags && recall_trust.tags)
               AND (all_tags IS NULL OR m.tags @> all_tags)
               AND (recall_trust.entities IS NULL OR m.entities && recall_trust.entities)
               AND (all_entities IS NULL OR m.entities @> all_entities)
               AND (recall_trust.metadata IS NULL OR m.metadata @> recall_trust.metadata)
               AND (created_after IS NULL OR m.created_at >= created_after)
               AND (created_before IS NULL OR m.created_at < created_before)
               AND (components IS NULL OR m.component = ANY (components))
               AND (output_types IS NULL OR m.output_type = ANY (output_types))
               AND (domains IS NULL OR m.domain = ANY (domains))
               AND (categories IS NULL OR m.category = ANY (categories))
               AND (loops IS NULL OR m.loop = ANY (loops))
               AND (recall_trust.compliant IS NULL OR m.compliant = recall_trust.compliant)
               AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
               AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
             ORDER BY score DESC, m.id
             LIMIT k) own
        UNION ALL
        SELECT * FROM (
            SELECT m.team_id AS owner_id, m.id, true AS of_team,
                   trust_weight * CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END
                   + similarity_weight * similarity(m.embedding, query, 0.0)
                   + recency_weight * recency_hyperbolic(m.created_at, moment, 7, 0.5)
                   + importance_weight * m.importance AS score
              FROM team_memories m
              LEFT JOIN memory_usage u ON u.agent_id = m.team_id AND u.memory_id = m.id
             WHERE m.team_id = ANY (teams)
               AND (include_invalid OR is_valid(
                      m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
               AND (recall_trust.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
               AND m.status = ANY (statuses)
               AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                    OR m.additional_types && memory_types)
               AND (tiers IS NULL OR m.tier = ANY (tiers))
               AND (recall_trust.tags IS NULL OR m.tags && recall_trust.tags)
               AND (all_tags IS NULL OR m.tags @> all_tags)
               AND (recall_trust.entities IS NULL OR m.entities && recall_trust.entities)
               AND (all_entities IS NULL OR m.entities @> all_entities)
               AND (recall_trust.metadata IS NULL OR m.metadata @> recall_trust.metadata)
               AND (created_after IS NULL OR m.created_at >= created_after)
               AND (created_before IS NULL OR m.created_at < created_before)
               AND (components IS NULL OR m.component = ANY (components))
               AND (output_types IS NULL OR m.output_type = ANY (output_types))
               AND (domains IS NULL OR m.domain = ANY (domains))
               AND (categories IS NULL OR m.category = ANY (categories))
               AND (loops IS NULL OR m.loop = ANY (loops))
               AND (recall_trust.compliant IS NULL OR m.compliant = recall_trust.compliant)
               AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
               AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
             ORDER BY score DESC, m.id
             LIMIT k) theirs
        ORDER BY score DESC, id
        LIMIT k
    )
    SELECT m.agent_id, NULL::text AS team_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END,
           similarity(m.embedding, query, 0.0),
           recency_hyperbolic(m.created_at, moment, 7, 0.5),
           m.importance
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.owner_id AND m.id = r.id
      LEFT JOIN memory_usage u ON u.agent_id = r.owner_id AND u.memory_id = r.id
     WHERE NOT r.of_team AND (min_score IS NULL OR r.score >= min_score)
    UNION ALL
    SELECT NULL::text, m.team_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END,
           similarity(m.embedding, query, 0.0),
           recency_hyperbolic(m.created_at, moment, 7, 0.5),
           m.importance
      FROM ranked r
      JOIN team_memories m ON m.team_id = r.owner_id AND m.id = r.id
      LEFT JOIN memory_usage u ON u.agent_id = r.owner_id AND u.memory_id = r.id
     WHERE r.of_team AND (min_score IS NULL OR r.score >= min_score)
    ORDER BY score DESC, id;
END
$$;

--
-- Name: FUNCTION recall_trust(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, teams text[], query_entities text[], apply_decay boolean, trust_weight double precision, similarity_weight double precision, recency_weight double precision, importance_weight double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recall_trust(agent text, query public.vector, k integer, as_of timestamp with time zone, min_score double precision, min_similarity double precision, memory_types text[], tiers text[], tags text[], all_tags text[], entities text[], all_entities text[], metadata jsonb, created_after timestamp with time zone, created_before timestamp with time zone, components text[], output_types text[], domains text[], categories text[], loops text[], compliant boolean, min_trust double precision, statuses text[], include_invalid boolean, teams text[], query_entities text[], apply_decay boolean, trust_weight double precision, similarity_weight double precision, recency_weight double precision, importance_weight double precision) IS 'The k best memories of an agent by the profile trust: 0.4 trust + 0.35 similarity + 0.15 recency + 0.1 importance.';

--
-- Name: recency_exponential(timestamp with time zone, timestamp with time zone, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recency_exponential(clock timestamp with time zone, as_of timestamp with time zone, rate double precision, unknown double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (clock IS NULL) THEN unknown WHEN (clock >= as_of) THEN (1)::double precision ELSE exp(GREATEST(((- rate) * (date_part('epoch'::text, (as_of - clock)) / (86400)::double precision)), (- (700)::double precision))) END;

--
-- Name: FUNCTION recency_exponential(clock timestamp with time zone, as_of timestamp with time zone, rate double precision, unknown double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recency_exponential(clock timestamp with time zone, as_of timestamp with time zone, rate double precision, unknown double precision) IS 'exp(-rate * days since clock); 1 for a clock after as_of; unknown where there is no clock.';

--
-- Name: recency_hyperbolic(timestamp with time zone, timestamp with time zone, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recency_hyperbolic(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (clock IS NULL) THEN unknown WHEN (clock >= as_of) THEN (1)::double precision ELSE ((1)::double precision / ((1)::double precision + ((date_part('epoch'::text, (as_of - clock)) / (86400)::double precision) / half_life))) END;

--
-- Name: FUNCTION recency_hyperbolic(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recency_hyperbolic(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision) IS '1 / (1 + days since clock / half_life); 1 for a clock after as_of; unknown without a clock.';

--
-- Name: recency_linear(timestamp with time zone, timestamp with time zone, double precision, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.recency_linear(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (clock IS NULL) THEN unknown WHEN (clock >= as_of) THEN (1)::double precision ELSE GREATEST((0)::double precision, ((1)::double precision - ((date_part('epoch'::text, (as_of - clock)) / (86400)::double precision) / ((2)::double precision * half_life)))) END;

--
-- Name: FUNCTION recency_linear(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.recency_linear(clock timestamp with time zone, as_of timestamp with time zone, half_life double precision, unknown double precision) IS '1 - days since clock / (2 * half_life), at least 0; 1 for a clock after as_of; unknown without a clock.';

--
-- Name: similarity(public.halfvec, public.halfvec, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.similarity(embedding public.halfvec, query public.halfvec, missing double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((embedding IS NULL) OR (query IS NULL)) THEN missing ELSE GREATEST(((1)::double precision - (embedding OPERATOR(public.<=>) query)), (0)::double precision) END;

--
-- Name: FUNCTION similarity(embedding public.halfvec, query public.halfvec, missing double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.similarity(embedding public.halfvec, query public.halfvec, missing double precision) IS 'Cosine similarity in [0, 1]; missing where there is no embedding or no query.';

--
-- Name: similarity(public.vector, public.vector, double precision); Type: FUNCTION; Schema: pgrecall; Owner: -
--

CREATE FUNCTION pgrecall.similarity(embedding public.vector, query public.vector, missing double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((embedding IS NULL) OR (query IS NULL)) THEN missing ELSE GREATEST(((1)::double precision - (embedding OPERATOR(public.<=>) query)), (0)::double precision) END;

--
-- Name: FUNCTION similarity(embedding public.vector, query public.vector, missing double precision); Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON FUNCTION pgrecall.similarity(embedding public.vector, query public.vector, missing double precision) IS 'Cosine similarity in [0, 1]; missing where there is no embedding or no query.';

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: agent_memories; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.agent_memories (
    agent_id text NOT NULL,
    id uuid NOT NULL,
    usefulness double precision DEFAULT 0.5 NOT NULL,
    confidence double precision DEFAULT 0.8 NOT NULL,
    importance double precision DEFAULT 0.5 NOT NULL,
    trust double precision,
    trust_half_life_hours double precision,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    valid_from timestamp with time zone,
    valid_until timestamp with time zone,
    expires_at timestamp with time zone,
    invalidated_at timestamp with time zone,
    status text DEFAULT 'active'::text NOT NULL,
    tier text DEFAULT 'long'::text NOT NULL,
    memory_type text DEFAULT 'episodic'::text NOT NULL,
    trust_curve text,
    entities text[] DEFAULT '{}'::text[] NOT NULL,
    embedding public.vector(256),
    content text NOT NULL,
    content_hash bytea GENERATED ALWAYS AS (pgrecall.content_hash(content)) STORED NOT NULL,
    embedding_model text,
    additional_types text[] DEFAULT '{}'::text[] NOT NULL,
    memory_nature text,
    content_type text,
    subject text,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    needs_review boolean DEFAULT false NOT NULL,
    trust_provenance double precision,
    trust_consensus double precision,
    trust_governance double precision,
    trust_usage double precision,
    component text,
    output_type text,
    domain text,
    category text,
    loop text,
    quality_score double precision,
    compliant boolean,
    requires_approval boolean DEFAULT false NOT NULL,
    has_errors boolean DEFAULT false NOT NULL,
    violates_policy boolean DEFAULT false NOT NULL,
    under_policy_review boolean DEFAULT false NOT NULL,
    observed_at timestamp with time zone,
    invalidation_reason text,
    superseded_by uuid,
    CONSTRAINT ck_agent_memories_agent_id CHECK (((agent_id <> ''::text) AND (length(agent_id) <= 200))),
    CONSTRAINT ck_agent_memories_confidence CHECK (((confidence = (0)::double precision) OR ((confidence >= '1e-100'::double precision) AND (confidence <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_content CHECK (((content <> ''::text) AND (octet_length(content) <= 2097152))),
    CONSTRAINT ck_agent_memories_created_at CHECK (((created_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (created_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_embedding CHECK (((public.vector_norm(embedding) >= '1e-15'::double precision) AND (public.vector_norm(embedding) <= '1e+15'::double precision))),
    CONSTRAINT ck_agent_memories_expires_at CHECK (((expires_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (expires_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_importance CHECK (((importance = (0)::double precision) OR ((importance >= '1e-100'::double precision) AND (importance <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_invalidated_at CHECK (((invalidated_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (invalidated_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_invalidation_reason CHECK ((invalidation_reason = ANY (ARRAY['superseded'::text, 'forgotten'::text]))),
    CONSTRAINT ck_agent_memories_memory_type CHECK (((memory_type <> ''::text) AND (length(memory_type) <= 200))),
    CONSTRAINT ck_agent_memories_metadata CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    CONSTRAINT ck_agent_memories_observed_at CHECK (((observed_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (observed_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_quality_score CHECK (((quality_score = (0)::double precision) OR ((quality_score >= '1e-100'::double precision) AND (quality_score <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_status CHECK ((status = ANY (ARRAY['active'::text, 'consolidated'::text, 'completed'::text, 'archived'::text]))),
    CONSTRAINT ck_agent_memories_tier CHECK ((tier = ANY (ARRAY['short'::text, 'medium'::text, 'long'::text]))),
    CONSTRAINT ck_agent_memories_trust CHECK (((trust = (0)::double precision) OR ((trust >= '1e-100'::double precision) AND (trust <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_consensus CHECK (((trust_consensus = (0)::double precision) OR ((trust_consensus >= '1e-100'::double precision) AND (trust_consensus <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_curve CHECK ((trust_curve = ANY (ARRAY['hyperbolic'::text, 'exponential'::text, 'linear'::text]))),
    CONSTRAINT ck_agent_memories_trust_governance CHECK (((trust_governance = (0)::double precision) OR ((trust_governance >= '1e-100'::double precision) AND (trust_governance <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_half_life_hours CHECK (((trust_half_life_hours >= '0.001'::double precision) AND (trust_half_life_hours <= '1000000000'::double precision))),
    CONSTRAINT ck_agent_memories_trust_provenance CHECK (((trust_provenance = (0)::double precision) OR ((trust_provenance >= '1e-100'::double precision) AND (trust_provenance <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_usage CHECK (((trust_usage = (0)::double precision) OR ((trust_usage >= '1e-100'::double precision) AND (trust_usage <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_updated_at CHECK (((updated_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (updated_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_usefulness CHECK (((usefulness = (0)::double precision) OR ((usefulness >= '1e-100'::double precision) AND (usefulness <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_valid_from CHECK (((valid_from >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (valid_from <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_valid_until CHECK (((valid_until >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (valid_until <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_validity CHECK ((valid_from < valid_until))
);
ALTER TABLE ONLY pgrecall.agent_memories ALTER COLUMN embedding SET STORAGE PLAIN;

--
-- Name: TABLE agent_memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.agent_memories IS 'Memories of agents, one row each; nothing here changes when one is retrieved.';

--
-- Name: COLUMN agent_memories.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.agent_id IS 'Whose memory this is; every statement filters on it.';

--
-- Name: COLUMN agent_memories.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.id IS 'UUID made by the client, version 7.';

--
-- Name: COLUMN agent_memories.usefulness; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.usefulness IS 'Posterior mean of helpfulness from feedback.';

--
-- Name: COLUMN agent_memories.confidence; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.confidence IS 'How sure the extraction was.';

--
-- Name: COLUMN agent_memories.importance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.importance IS 'How much it matters, 0 to 1.';

--
-- Name: COLUMN agent_memories.trust; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust IS 'Trust as stored, before decay; NULL: never assessed.';

--
-- Name: COLUMN agent_memories.trust_half_life_hours; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_half_life_hours IS 'Half-life of trust in hours.';

--
-- Name: COLUMN agent_memories.created_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.created_at IS 'When it came to be; NULL: unknown.';

--
-- Name: COLUMN agent_memories.updated_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.updated_at IS 'Last change.';

--
-- Name: COLUMN agent_memories.valid_from; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.valid_from IS 'Start of validity, included; NULL: open.';

--
-- Name: COLUMN agent_memories.valid_until; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.valid_until IS 'End of validity, excluded; NULL: open.';

--
-- Name: COLUMN agent_memories.expires_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.expires_at IS 'From this moment on it is not recalled; NULL: never.';

--
-- Name: COLUMN agent_memories.invalidated_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.invalidated_at IS 'When it was superseded or forgotten; NULL: it stands.';

--
-- Name: COLUMN agent_memories.status; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.status IS 'active, consolidated, completed or archived.';

--
-- Name: COLUMN agent_memories.tier; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.tier IS 'short, medium or long: how long it is meant to last.';

--
-- Name: COLUMN agent_memories.memory_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.memory_type IS 'Its kind, which is also its store.';

--
-- Name: COLUMN agent_memories.trust_curve; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_curve IS 'How trust decays: hyperbolic, exponential or linear.';

--
-- Name: COLUMN agent_memories.entities; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.entities IS 'Names of the people, places and things it mentions.';

--
-- Name: COLUMN agent_memories.embedding; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.embedding IS 'Direction of the meaning; NULL: not embedded.';

--
-- Name: COLUMN agent_memories.content; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.content IS 'What is remembered, at most 2 MiB of UTF-8.';

--
-- Name: COLUMN agent_memories.content_hash; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.content_hash IS 'SHA-256 of the normalised content; equal for exact duplicates.';

--
-- Name: COLUMN agent_memories.embedding_model; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.embedding_model IS 'The model that made the embedding.';

--
-- Name: COLUMN agent_memories.additional_types; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.additional_types IS 'Further kinds, where a memory has several.';

--
-- Name: COLUMN agent_memories.memory_nature; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.memory_nature IS 'semantic, episodic, procedural or a caller''s own word.';

--
-- Name: COLUMN agent_memories.content_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.content_type IS 'Media type or a caller''s own word for the form of content.';

--
-- Name: COLUMN agent_memories.subject; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.subject IS 'What it is about; newer memories supersede older ones per subject.';

--
-- Name: COLUMN agent_memories.tags; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.tags IS 'Free labels.';

--
-- Name: COLUMN agent_memories.metadata; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.metadata IS 'The caller''s own fields, a JSON object.';

--
-- Name: COLUMN agent_memories.needs_review; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.needs_review IS 'Feedback called it outdated.';

--
-- Name: COLUMN agent_memories.trust_provenance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_provenance IS 'Trust''s part from component and confidence.';

--
-- Name: COLUMN agent_memories.trust_consensus; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_consensus IS 'Trust''s part from quality.';

--
-- Name: COLUMN agent_memories.trust_governance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_governance IS 'Trust''s part from compliance.';

--
-- Name: COLUMN agent_memories.trust_usage; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.trust_usage IS 'Trust''s part from outcomes of use.';

--
-- Name: COLUMN agent_memories.component; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.component IS 'The component that produced it.';

--
-- Name: COLUMN agent_memories.output_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.output_type IS 'reasoning, decision, action, observation and so on.';

--
-- Name: COLUMN agent_memories.domain; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.domain IS 'Domain of the output.';

--
-- Name: COLUMN agent_memories.category; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.category IS 'Category of the output.';

--
-- Name: COLUMN agent_memories.loop; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.loop IS 'The agent loop it came from.';

--
-- Name: COLUMN agent_memories.quality_score; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.quality_score IS 'Quality given by the producer; NULL: unknown.';

--
-- Name: COLUMN agent_memories.compliant; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.compliant IS 'Whether it passed governance; NULL: not judged.';

--
-- Name: COLUMN agent_memories.requires_approval; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.requires_approval IS 'Governance asks for approval.';

--
-- Name: COLUMN agent_memories.has_errors; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.has_errors IS 'Errors were found in it.';

--
-- Name: COLUMN agent_memories.violates_policy; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.violates_policy IS 'It violates a policy.';

--
-- Name: COLUMN agent_memories.under_policy_review; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.under_policy_review IS 'A policy review is open.';

--
-- Name: COLUMN agent_memories.observed_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.observed_at IS 'When it was observed, where that differs.';

--
-- Name: COLUMN agent_memories.invalidation_reason; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.invalidation_reason IS 'superseded or forgotten.';

--
-- Name: COLUMN agent_memories.superseded_by; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.superseded_by IS 'The memory that took its place.';

--
-- Name: alembic_version; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.alembic_version (
    version_num character varying(32) NOT NULL
);

--
-- Name: TABLE alembic_version; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.alembic_version IS 'The migration this schema is at.';

--
-- Name: COLUMN alembic_version.version_num; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.alembic_version.version_num IS 'Its revision.';

--
-- Name: memory_events; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.memory_events (
    agent_id text NOT NULL,
    memory_id uuid NOT NULL,
    id uuid NOT NULL,
    event_type text NOT NULL,
    reason text,
    actor text,
    old_values jsonb,
    new_values jsonb,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    occurred_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ck_memory_events_occurred_at CHECK (((occurred_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (occurred_at <= '9999-12-30 00:00:00+00'::timestamp with time zone)))
);

--
-- Name: TABLE memory_events; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.memory_events IS 'What happened to memories, append-only; a retrieval leaves no row.';

--
-- Name: COLUMN memory_events.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.agent_id IS 'Whose memory it tells of: an agent, or a team.';

--
-- Name: COLUMN memory_events.memory_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.memory_id IS 'The memory it tells of.';

--
-- Name: COLUMN memory_events.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.id IS 'UUID made by the client, version 7.';

--
-- Name: COLUMN memory_events.event_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.event_type IS 'What happened.';

--
-- Name: COLUMN memory_events.reason; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.reason IS 'Why, in the caller''s words.';

--
-- Name: COLUMN memory_events.actor; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.actor IS 'Who did it.';

--
-- Name: COLUMN memory_events.old_values; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.old_values IS 'Changed fields before.';

--
-- Name: COLUMN memory_events.new_values; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.new_values IS 'Changed fields after.';

--
-- Name: COLUMN memory_events.metadata; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.metadata IS 'The caller''s own fields, a JSON object.';

--
-- Name: COLUMN memory_events.occurred_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.occurred_at IS 'When.';

--
-- Name: memory_usage; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.memory_usage (
    agent_id text NOT NULL,
    memory_id uuid NOT NULL,
    retrieval_count integer DEFAULT 0 NOT NULL,
    last_accessed_at timestamp with time zone,
    success_count integer DEFAULT 0 NOT NULL,
    failure_count integer DEFAULT 0 NOT NULL,
    CONSTRAINT ck_memory_usage_failure_count CHECK ((failure_count >= 0)),
    CONSTRAINT ck_memory_usage_last_accessed_at CHECK (((last_accessed_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (last_accessed_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_memory_usage_retrieval_count CHECK ((retrieval_count >= 0)),
    CONSTRAINT ck_memory_usage_success_count CHECK ((success_count >= 0))
)
WITH (fillfactor='70');

--
-- Name: TABLE memory_usage; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.memory_usage IS 'Counters of use, apart from agent_memories so that counting never touches a vector or its index; no row until the first retrieval.';

--
-- Name: COLUMN memory_usage.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.agent_id IS 'Whose memory it counts: an agent, or a team.';

--
-- Name: COLUMN memory_usage.memory_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.memory_id IS 'The memory it counts.';

--
-- Name: COLUMN memory_usage.retrieval_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.retrieval_count IS 'How often it was retrieved.';

--
-- Name: COLUMN memory_usage.last_accessed_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.last_accessed_at IS 'Last retrieval.';

--
-- Name: COLUMN memory_usage.success_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.success_count IS 'Uses that went well.';

--
-- Name: COLUMN memory_usage.failure_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.failure_count IS 'Uses that went wrong.';

--
-- Name: team_memories; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.team_memories (
    team_id text NOT NULL,
    id uuid NOT NULL,
    usefulness double precision DEFAULT 0.5 NOT NULL,
    confidence double precision DEFAULT 0.8 NOT NULL,
    importance double precision DEFAULT 0.5 NOT NULL,
    trust double precision,
    trust_half_life_hours double precision,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    valid_from timestamp with time zone,
    valid_until timestamp with time zone,
    expires_at timestamp with time zone,
    invalidated_at timestamp with time zone,
    status text DEFAULT 'active'::text NOT NULL,
    tier text DEFAULT 'long'::text NOT NULL,
    memory_type text DEFAULT 'episodic'::text NOT NULL,
    trust_curve text,
    entities text[] DEFAULT '{}'::text[] NOT NULL,
    embedding public.vector(256),
    content text NOT NULL,
    content_hash bytea GENERATED ALWAYS AS (pgrecall.content_hash(content)) STORED NOT NULL,
    embedding_model text,
    additional_types text[] DEFAULT '{}'::text[] NOT NULL,
    memory_nature text,
    content_type text,
    subject text,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    needs_review boolean DEFAULT false NOT NULL,
    trust_provenance double precision,
    trust_consensus double precision,
    trust_governance double precision,
    trust_usage double precision,
    component text,
    output_type text,
    domain text,
    category text,
    loop text,
    quality_score double precision,
    compliant boolean,
    requires_approval boolean DEFAULT false NOT NULL,
    has_errors boolean DEFAULT false NOT NULL,
    violates_policy boolean DEFAULT false NOT NULL,
    under_policy_review boolean DEFAULT false NOT NULL,
    observed_at timestamp with time zone,
    invalidation_reason text,
    superseded_by uuid,
    CONSTRAINT ck_team_memories_confidence CHECK (((confidence = (0)::double precision) OR ((confidence >= '1e-100'::double precision) AND (confidence <= (1)::double precision)))),
    CONSTRAINT ck_team_memories_content CHECK (((content <> ''::text) AND (octet_length(content) <= 2097152))),
    CONSTRAINT ck_team_memories_created_at CHECK (((created_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (created_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_team_memories_embedding CHECK (((public.vector_norm(embedding) >= '1e-15'::double precision) AND (public.vector_norm(embedding) <= '1e+15'::double precision))),
    CONSTRAINT ck_team_memories_expires_at CHECK (((expires_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (expires_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_team_memories_importance CHECK (((importance = (0)::double precision) OR ((importance >= '1e-100'::double precision) AND (importance <= (1)::double precision)))),
    CONSTRAINT ck_team_memories_invalidated_at CHECK (((invalidated_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (invalidated_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_team_memories_invalidation_reason CHECK ((invalidation_reason = ANY (ARRAY['superseded'::text, 'forgotten'::text]))),
    CONSTRAINT ck_team_memories_memory_type CHECK (((memory_type <> ''::text) AND (length(memory_type) <= 200))),
    CONSTRAINT ck_team_memories_metadata CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    CONSTRAINT ck_team_memories_observed_at CHECK (((observed_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (observed_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_team_memories_quality_score CHECK (((quality_score = (0)::double precision) OR ((quality_score >= '1e-100'::double precision) AND (quality_score <= (1)::double precision)))),
    CONSTRAINT ck_team_memories_status CHECK ((status = ANY (ARRAY['active'::text, 'consolidated'::text, 'completed'::text, 'archived'::text]))),
    CONSTRAINT ck_team_memories_team_id CHECK (((team_id <> ''::text) AND (length(team_id) <= 200))),
    CONSTRAINT ck_team_memories_tier CHECK ((tier = ANY (ARRAY['short'::text, 'medium'::text, 'long'::text]))),
    CONSTRAINT ck_team_memories_trust CHECK (((trust = (0)::double precision) OR ((trust >= '1e-100'::double precision) AND (trust <= (1)::double precision)))),
    CONSTRAINT ck_team_memories_trust_consensus CHECK (((trust_consensus = (0)::double precision) OR ((trust_consensus >= '1e-100'::double precision) AND (trust_consensus <= (1)::double precision)))),
    CONSTRAINT ck_team_memories_trust_curve CHECK ((trust_curve = ANY (ARRAY['hyperbolic'::text, 'exponential'::text, 'linear'::text]))),
    CONSTRAINT ck_team_memories_trust_governance CHECK (((trust_governance = (0)::double precision) OR ((trust_governance >= '1e-100'::double precision) AND (trust_governance <= (1)::double precision)))),
    CONSTRAINT ck_team_memories_trust_half_life_hours CHECK (((trust_half_life_hours >= '0.001'::double precision) AND (trust_half_life_hours <= '1000000000'::double precision))),
    CONSTRAINT ck_team_memories_trust_provenance CHECK (((trust_provenance = (0)::double precision) OR ((trust_provenance >= '1e-100'::double precision) AND (trust_provenance <= (1)::double precision)))),
    CONSTRAINT ck_team_memories_trust_usage CHECK (((trust_usage = (0)::double precision) OR ((trust_usage >= '1e-100'::double precision) AND (trust_usage <= (1)::double precision)))),
    CONSTRAINT ck_team_memories_updated_at CHECK (((updated_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (updated_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_team_memories_usefulness CHECK (((usefulness = (0)::double precision) OR ((usefulness >= '1e-100'::double precision) AND (usefulness <= (1)::double precision)))),
    CONSTRAINT ck_team_memories_valid_from CHECK (((valid_from >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (valid_from <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_team_memories_valid_until CHECK (((valid_until >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (valid_until <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_team_memories_validity CHECK ((valid_from < valid_until))
);
ALTER TABLE ONLY pgrecall.team_memories ALTER COLUMN embedding SET STORAGE PLAIN;

--
-- Name: TABLE team_memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.team_memories IS 'Memories shared by teams of agents, of the same shape as agent_memories.';

--
-- Name: COLUMN team_memories.team_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.team_id IS 'The team whose memory this is; every statement filters on it.';

--
-- Name: COLUMN team_memories.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.id IS 'UUID made by the client, version 7.';

--
-- Name: COLUMN team_memories.usefulness; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.usefulness IS 'Posterior mean of helpfulness from feedback.';

--
-- Name: COLUMN team_memories.confidence; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.confidence IS 'How sure the extraction was.';

--
-- Name: COLUMN team_memories.importance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.importance IS 'How much it matters, 0 to 1.';

--
-- Name: COLUMN team_memories.trust; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.trust IS 'Trust as stored, before decay; NULL: never assessed.';

--
-- Name: COLUMN team_memories.trust_half_life_hours; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.trust_half_life_hours IS 'Half-life of trust in hours.';

--
-- Name: COLUMN team_memories.created_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.created_at IS 'When it came to be; NULL: unknown.';

--
-- Name: COLUMN team_memories.updated_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.updated_at IS 'Last change.';

--
-- Name: COLUMN team_memories.valid_from; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.valid_from IS 'Start of validity, included; NULL: open.';

--
-- Name: COLUMN team_memories.valid_until; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.valid_until IS 'End of validity, excluded; NULL: open.';

--
-- Name: COLUMN team_memories.expires_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.expires_at IS 'From this moment on it is not recalled; NULL: never.';

--
-- Name: COLUMN team_memories.invalidated_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.invalidated_at IS 'When it was superseded or forgotten; NULL: it stands.';

--
-- Name: COLUMN team_memories.status; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.status IS 'active, consolidated, completed or archived.';

--
-- Name: COLUMN team_memories.tier; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.tier IS 'short, medium or long: how long it is meant to last.';

--
-- Name: COLUMN team_memories.memory_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.memory_type IS 'Its kind, which is also its store.';

--
-- Name: COLUMN team_memories.trust_curve; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.trust_curve IS 'How trust decays: hyperbolic, exponential or linear.';

--
-- Name: COLUMN team_memories.entities; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.entities IS 'Names of the people, places and things it mentions.';

--
-- Name: COLUMN team_memories.embedding; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.embedding IS 'Direction of the meaning; NULL: not embedded.';

--
-- Name: COLUMN team_memories.content; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.content IS 'What is remembered, at most 2 MiB of UTF-8.';

--
-- Name: COLUMN team_memories.content_hash; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.content_hash IS 'SHA-256 of the normalised content; equal for exact duplicates.';

--
-- Name: COLUMN team_memories.embedding_model; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.embedding_model IS 'The model that made the embedding.';

--
-- Name: COLUMN team_memories.additional_types; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.additional_types IS 'Further kinds, where a memory has several.';

--
-- Name: COLUMN team_memories.memory_nature; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.memory_nature IS 'semantic, episodic, procedural or a caller''s own word.';

--
-- Name: COLUMN team_memories.content_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.content_type IS 'Media type or a caller''s own word for the form of content.';

--
-- Name: COLUMN team_memories.subject; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.subject IS 'What it is about; newer memories supersede older ones per subject.';

--
-- Name: COLUMN team_memories.tags; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.tags IS 'Free labels.';

--
-- Name: COLUMN team_memories.metadata; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.metadata IS 'The caller''s own fields, a JSON object.';

--
-- Name: COLUMN team_memories.needs_review; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.needs_review IS 'Feedback called it outdated.';

--
-- Name: COLUMN team_memories.trust_provenance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.trust_provenance IS 'Trust''s part from component and confidence.';

--
-- Name: COLUMN team_memories.trust_consensus; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.trust_consensus IS 'Trust''s part from quality.';

--
-- Name: COLUMN team_memories.trust_governance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.trust_governance IS 'Trust''s part from compliance.';

--
-- Name: COLUMN team_memories.trust_usage; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.trust_usage IS 'Trust''s part from outcomes of use.';

--
-- Name: COLUMN team_memories.component; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.component IS 'The component that produced it.';

--
-- Name: COLUMN team_memories.output_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.output_type IS 'reasoning, decision, action, observation and so on.';

--
-- Name: COLUMN team_memories.domain; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.domain IS 'Domain of the output.';

--
-- Name: COLUMN team_memories.category; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.category IS 'Category of the output.';

--
-- Name: COLUMN team_memories.loop; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.loop IS 'The agent loop it came from.';

--
-- Name: COLUMN team_memories.quality_score; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.quality_score IS 'Quality given by the producer; NULL: unknown.';

--
-- Name: COLUMN team_memories.compliant; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.compliant IS 'Whether it passed governance; NULL: not judged.';

--
-- Name: COLUMN team_memories.requires_approval; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.requires_approval IS 'Governance asks for approval.';

--
-- Name: COLUMN team_memories.has_errors; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.has_errors IS 'Errors were found in it.';

--
-- Name: COLUMN team_memories.violates_policy; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.violates_policy IS 'It violates a policy.';

--
-- Name: COLUMN team_memories.under_policy_review; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.under_policy_review IS 'A policy review is open.';

--
-- Name: COLUMN team_memories.observed_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.observed_at IS 'When it was observed, where that differs.';

--
-- Name: COLUMN team_memories.invalidation_reason; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.invalidation_reason IS 'superseded or forgotten.';

--
-- Name: COLUMN team_memories.superseded_by; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.team_memories.superseded_by IS 'The memory that took its place.';

--
-- Name: memory_signals; Type: VIEW; Schema: pgrecall; Owner: -
--

CREATE VIEW pgrecall.memory_signals AS
 SELECT m.agent_id,
    NULL::text AS team_id,
    m.id,
    m.memory_type,
    m.tier,
    m.status,
    pgrecall.is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now()) AS valid,
        CASE
            WHEN (m.created_at IS NOT NULL) THEN GREATEST((date_part('epoch'::text, (now() - m.created_at)) / (86400)::double precision), (0)::double precision)
            ELSE NULL::double precision
        END AS age_days,
        CASE
            WHEN (u.last_accessed_at IS NOT NULL) THEN GREATEST((date_part('epoch'::text, (now() - u.last_accessed_at)) / (86400)::double precision), (0)::double precision)
            ELSE NULL::double precision
        END AS days_since_access,
    COALESCE(u.retrieval_count, 0) AS retrieval_count,
    COALESCE(u.success_count, 0) AS success_count,
    COALESCE(u.failure_count, 0) AS failure_count,
    u.last_accessed_at,
    pgrecall.recency_exponential(m.created_at, now(), (0.05)::double precision, (0.5)::double precision) AS recency_five_factor,
    pgrecall.recency_exponential(COALESCE(u.last_accessed_at, m.created_at), now(), (0.05)::double precision, (0.5)::double precision) AS recency_last_access,
    pgrecall.recency_exponential(GREATEST(u.last_accessed_at, m.created_at), now(), ((0.6931471805599453 / (14)::numeric))::double precision, (0.5)::double precision) AS recency_half_life,
    pgrecall.recency_hyperbolic(m.created_at, now(), (7)::double precision, (0.5)::double precision) AS recency_trust,
    pgrecall.recency_exponential(COALESCE(u.last_accessed_at, m.created_at), now(), ((0.6931471805599453 /
        CASE m.tier
            WHEN 'short'::text THEN 0.25
            WHEN 'medium'::text THEN (7)::numeric
            ELSE (90)::numeric
        END))::double precision, (0.5)::double precision) AS recency_tiered,
    pgrecall.frequency(u.retrieval_count, (50)::double precision) AS frequency_five_factor,
    pgrecall.frequency(u.retrieval_count, (20)::double precision) AS frequency_tiered,
    m.usefulness,
    m.importance,
    m.confidence,
    m.trust,
    pgrecall.decayed_trust(m.trust, u.last_accessed_at, now(), m.trust_curve, m.trust_half_life_hours, NULL::double precision) AS decayed_trust
   FROM (pgrecall.agent_memories m
     LEFT JOIN pgrecall.memory_usage u ON (((u.agent_id = m.agent_id) AND (u.memory_id = m.id))))
UNION ALL
 SELECT NULL::text AS agent_id,
    m.team_id,
    m.id,
    m.memory_type,
    m.tier,
    m.status,
    pgrecall.is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now()) AS valid,
        CASE
            WHEN (m.created_at IS NOT NULL) THEN GREATEST((date_part('epoch'::text, (now() - m.created_at)) / (86400)::double precision), (0)::double precision)
            ELSE NULL::double precision
        END AS age_days,
        CASE
            WHEN (u.last_accessed_at IS NOT NULL) THEN GREATEST((date_part('epoch'::text, (now() - u.last_accessed_at)) / (86400)::double precision), (0)::double precision)
            ELSE NULL::double precision
        END AS days_since_access,
    COALESCE(u.retrieval_count, 0) AS retrieval_count,
    COALESCE(u.success_count, 0) AS success_count,
    COALESCE(u.failure_count, 0) AS failure_count,
    u.last_accessed_at,
    pgrecall.recency_exponential(m.created_at, now(), (0.05)::double precision, (0.5)::double precision) AS recency_five_factor,
    pgrecall.recency_exponential(COALESCE(u.last_accessed_at, m.created_at), now(), (0.05)::double precision, (0.5)::double precision) AS recency_last_access,
    pgrecall.recency_exponential(GREATEST(u.last_accessed_at, m.created_at), now(), ((0.6931471805599453 / (14)::numeric))::double precision, (0.5)::double precision) AS recency_half_life,
    pgrecall.recency_hyperbolic(m.created_at, now(), (7)::double precision, (0.5)::double precision) AS recency_trust,
    pgrecall.recency_exponential(COALESCE(u.last_accessed_at, m.created_at), now(), ((0.6931471805599453 /
        CASE m.tier
            WHEN 'short'::text THEN 0.25
            WHEN 'medium'::text THEN (7)::numeric
            ELSE (90)::numeric
        END))::double precision, (0.5)::double precision) AS recency_tiered,
    pgrecall.frequency(u.retrieval_count, (50)::double precision) AS frequency_five_factor,
    pgrecall.frequency(u.retrieval_count, (20)::double precision) AS frequency_tiered,
    m.usefulness,
    m.importance,
    m.confidence,
    m.trust,
    pgrecall.decayed_trust(m.trust, u.last_accessed_at, now(), m.trust_curve, m.trust_half_life_hours, NULL::double precision) AS decayed_trust
   FROM (pgrecall.team_memories m
     LEFT JOIN pgrecall.memory_usage u ON (((u.agent_id = m.team_id) AND (u.memory_id = m.id))));

--
-- Name: VIEW memory_signals; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON VIEW pgrecall.memory_signals IS 'Every memory with those of its signals that no query is needed for, as of now; filter on agent_id or team_id.';

--
-- Name: COLUMN memory_signals.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.agent_id IS 'Whose memory this is; NULL for a memory of a team.';

--
-- Name: COLUMN memory_signals.team_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.team_id IS 'The team whose memory this is; NULL for a memory of an agent.';

--
-- Name: COLUMN memory_signals.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.id IS 'The memory.';

--
-- Name: COLUMN memory_signals.memory_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.memory_type IS 'Its kind, which is also its store.';

--
-- Name: COLUMN memory_signals.tier; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.tier IS 'short, medium or long.';

--
-- Name: COLUMN memory_signals.status; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.status IS 'active, consolidated, completed or archived; only active ones are recalled unless asked for.';

--
-- Name: COLUMN memory_signals.valid; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.valid IS 'Whether it holds now: valid, not invalidated, not expired; says nothing of status.';

--
-- Name: COLUMN memory_signals.age_days; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.age_days IS 'Days since created_at, never negative; NULL: unknown.';

--
-- Name: COLUMN memory_signals.days_since_access; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.days_since_access IS 'Days since the last retrieval, never negative; NULL: never.';

--
-- Name: COLUMN memory_signals.retrieval_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.retrieval_count IS 'How often it was retrieved.';

--
-- Name: COLUMN memory_signals.success_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.success_count IS 'Uses that went well.';

--
-- Name: COLUMN memory_signals.failure_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.failure_count IS 'Uses that went wrong.';

--
-- Name: COLUMN memory_signals.last_accessed_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.last_accessed_at IS 'Last retrieval.';

--
-- Name: COLUMN memory_signals.recency_five_factor; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.recency_five_factor IS 'exp(-0.05 * days since creation); 0.5 where unknown.';

--
-- Name: COLUMN memory_signals.recency_last_access; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.recency_last_access IS 'exp(-0.05 * days since the last access, or creation); 0.5 where unknown.';

--
-- Name: COLUMN memory_signals.recency_half_life; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.recency_half_life IS 'Half-life 14 days since creation or last access, whichever is later; 0.5 where unknown.';

--
-- Name: COLUMN memory_signals.recency_trust; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.recency_trust IS '1 / (1 + days since creation / 7); 0.5 where unknown.';

--
-- Name: COLUMN memory_signals.recency_tiered; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.recency_tiered IS 'Half-life 6 hours, 7 or 90 days by tier, since the last access, or creation; 0.5 where unknown.';

--
-- Name: COLUMN memory_signals.frequency_five_factor; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.frequency_five_factor IS 'Retrievals as a share of 50, at most 1.';

--
-- Name: COLUMN memory_signals.frequency_tiered; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.frequency_tiered IS 'Retrievals as a share of 20, at most 1.';

--
-- Name: COLUMN memory_signals.usefulness; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.usefulness IS 'Posterior mean of helpfulness from feedback.';

--
-- Name: COLUMN memory_signals.importance; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.importance IS 'How much it matters, 0 to 1.';

--
-- Name: COLUMN memory_signals.confidence; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.confidence IS 'How sure the extraction was.';

--
-- Name: COLUMN memory_signals.trust; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.trust IS 'Trust as stored, before decay; NULL: never assessed.';

--
-- Name: COLUMN memory_signals.decayed_trust; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_signals.decayed_trust IS 'Trust now, decayed since the last access by the row''s own curve; NULL: never assessed.';

--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);

--
-- Name: agent_memories pk_agent_memories; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.agent_memories
    ADD CONSTRAINT pk_agent_memories PRIMARY KEY (agent_id, id);

--
-- Name: memory_events pk_memory_events; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.memory_events
    ADD CONSTRAINT pk_memory_events PRIMARY KEY (agent_id, memory_id, id);

--
-- Name: memory_usage pk_memory_usage; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.memory_usage
    ADD CONSTRAINT pk_memory_usage PRIMARY KEY (agent_id, memory_id);

--
-- Name: team_memories pk_team_memories; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.team_memories
    ADD CONSTRAINT pk_team_memories PRIMARY KEY (team_id, id);

--
-- Name: ix_agent_memories_embedding; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_agent_memories_embedding ON pgrecall.agent_memories USING hnsw (embedding public.vector_cosine_ops) WITH (m='16', ef_construction='64');

--
-- Name: ix_team_memories_embedding; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_team_memories_embedding ON pgrecall.team_memories USING hnsw (embedding public.vector_cosine_ops) WITH (m='16', ef_construction='64');

--
-- PostgreSQL database dump complete
--

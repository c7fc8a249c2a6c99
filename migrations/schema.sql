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
    observed_at timestamp with time zone,
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
    invalidation_reason text,
    superseded_by uuid,
    inserted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    terms tsvector GENERATED ALWAYS AS (pgrecall.lexemes(content)) STORED NOT NULL,
    tokens integer,
    key text,
    edition integer,
    session text,
    turn integer,
    CONSTRAINT ck_agent_memories_agent_id CHECK (((agent_id <> ''::text) AND (agent_id <> 'team:'::text) AND (length(agent_id) <= 205))),
    CONSTRAINT ck_agent_memories_confidence CHECK (((confidence = (0)::double precision) OR ((confidence >= '1e-100'::double precision) AND (confidence <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_content CHECK (((content <> ''::text) AND (octet_length(content) <= 2097152))),
    CONSTRAINT ck_agent_memories_created_at CHECK (((created_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (created_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_edition CHECK (((edition >= 0) AND ((edition IS NULL) OR (key IS NULL)))),
    CONSTRAINT ck_agent_memories_embedding CHECK (((public.vector_norm(embedding) >= '1e-15'::double precision) AND (public.vector_norm(embedding) <= '1e+15'::double precision))),
    CONSTRAINT ck_agent_memories_expires_at CHECK (((expires_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (expires_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_importance CHECK (((importance = (0)::double precision) OR ((importance >= '1e-100'::double precision) AND (importance <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_inserted_at CHECK (((inserted_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (inserted_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_invalidated_at CHECK (((invalidated_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (invalidated_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_invalidation_reason CHECK ((invalidation_reason = ANY (ARRAY['superseded'::text, 'forgotten'::text]))),
    CONSTRAINT ck_agent_memories_key CHECK (((key <> ''::text) AND (length(key) <= 200))),
    CONSTRAINT ck_agent_memories_memory_type CHECK (((memory_type <> ''::text) AND (length(memory_type) <= 200))),
    CONSTRAINT ck_agent_memories_metadata CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    CONSTRAINT ck_agent_memories_observed_at CHECK (((observed_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (observed_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_quality_score CHECK (((quality_score = (0)::double precision) OR ((quality_score >= '1e-100'::double precision) AND (quality_score <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_session CHECK (((session <> ''::text) AND (length(session) <= 200))),
    CONSTRAINT ck_agent_memories_status CHECK ((status = ANY (ARRAY['active'::text, 'pending'::text, 'consolidated'::text, 'completed'::text, 'archived'::text]))),
    CONSTRAINT ck_agent_memories_tier CHECK ((tier = ANY (ARRAY['short'::text, 'medium'::text, 'long'::text]))),
    CONSTRAINT ck_agent_memories_tokens CHECK ((tokens >= 0)),
    CONSTRAINT ck_agent_memories_trust CHECK (((trust = (0)::double precision) OR ((trust >= '1e-100'::double precision) AND (trust <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_consensus CHECK (((trust_consensus = (0)::double precision) OR ((trust_consensus >= '1e-100'::double precision) AND (trust_consensus <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_curve CHECK ((trust_curve = ANY (ARRAY['hyperbolic'::text, 'exponential'::text, 'linear'::text]))),
    CONSTRAINT ck_agent_memories_trust_governance CHECK (((trust_governance = (0)::double precision) OR ((trust_governance >= '1e-100'::double precision) AND (trust_governance <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_half_life_hours CHECK (((trust_half_life_hours >= '0.001'::double precision) AND (trust_half_life_hours <= '1000000000'::double precision))),
    CONSTRAINT ck_agent_memories_trust_provenance CHECK (((trust_provenance = (0)::double precision) OR ((trust_provenance >= '1e-100'::double precision) AND (trust_provenance <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_trust_usage CHECK (((trust_usage = (0)::double precision) OR ((trust_usage >= '1e-100'::double precision) AND (trust_usage <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_turn CHECK (((turn >= 0) AND ((turn IS NULL) OR (session IS NOT NULL)))),
    CONSTRAINT ck_agent_memories_updated_at CHECK (((updated_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (updated_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_usefulness CHECK (((usefulness = (0)::double precision) OR ((usefulness >= '1e-100'::double precision) AND (usefulness <= (1)::double precision)))),
    CONSTRAINT ck_agent_memories_valid_from CHECK (((valid_from >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (valid_from <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_valid_until CHECK (((valid_until >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (valid_until <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_agent_memories_validity CHECK ((valid_from < valid_until))
);
ALTER TABLE ONLY pgrecall.agent_memories ALTER COLUMN agent_id SET (n_distinct=-0.005);
ALTER TABLE ONLY pgrecall.agent_memories ALTER COLUMN embedding SET STORAGE PLAIN;

--
-- Name: TABLE agent_memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.agent_memories IS 'Memories of agents and teams, one row each; nothing here changes when one is retrieved.';

--
-- Name: COLUMN agent_memories.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.agent_id IS 'Its owner: an agent, or a team as team:<id>; every statement filters on it.';

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

COMMENT ON COLUMN pgrecall.agent_memories.created_at IS 'When it was created; NULL: unknown.';

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

COMMENT ON COLUMN pgrecall.agent_memories.invalidated_at IS 'When it was superseded or forgotten; NULL: never.';

--
-- Name: COLUMN agent_memories.observed_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.observed_at IS 'When it was observed, where not at created_at.';

--
-- Name: COLUMN agent_memories.status; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.status IS 'active, pending, consolidated, completed or archived.';

--
-- Name: COLUMN agent_memories.tier; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.tier IS 'short, medium or long: how long it is meant to last.';

--
-- Name: COLUMN agent_memories.memory_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.memory_type IS 'Its kind, such as episodic, fact or task.';

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

COMMENT ON COLUMN pgrecall.agent_memories.embedding IS 'The vector of its meaning; NULL: not embedded.';

--
-- Name: COLUMN agent_memories.content; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.content IS 'The text, at most 2 MiB of UTF-8.';

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

COMMENT ON COLUMN pgrecall.agent_memories.tags IS 'Free words, or kind:value.';

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

COMMENT ON COLUMN pgrecall.agent_memories.requires_approval IS 'Governance asks for approval: it begins as pending.';

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
-- Name: COLUMN agent_memories.invalidation_reason; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.invalidation_reason IS 'superseded or forgotten.';

--
-- Name: COLUMN agent_memories.superseded_by; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.superseded_by IS 'The memory that took its place.';

--
-- Name: COLUMN agent_memories.inserted_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.inserted_at IS 'When this row was written, by the server''s clock.';

--
-- Name: COLUMN agent_memories.terms; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.terms IS 'The words of content as they are compared, with their positions.';

--
-- Name: COLUMN agent_memories.tokens; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.tokens IS 'Tokens of content, as its writer counted; NULL: estimated when a context is packed.';

--
-- Name: COLUMN agent_memories.key; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.key IS 'The caller''s own name for it, which its id was made from.';

--
-- Name: COLUMN agent_memories.edition; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.edition IS 'Its number among the active memories of its text, from 0; NULL: known by its key or id, not by its text.';

--
-- Name: COLUMN agent_memories.session; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.session IS 'The dialogue of which it is a turn.';

--
-- Name: COLUMN agent_memories.turn; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.agent_memories.turn IS 'Its place in the session; turns without one come last, by created_at.';

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
    feedback_up integer DEFAULT 0 NOT NULL,
    feedback_down integer DEFAULT 0 NOT NULL,
    CONSTRAINT ck_memory_usage_failure_count CHECK ((failure_count >= 0)),
    CONSTRAINT ck_memory_usage_feedback_down CHECK ((feedback_down >= 0)),
    CONSTRAINT ck_memory_usage_feedback_up CHECK ((feedback_up >= 0)),
    CONSTRAINT ck_memory_usage_last_accessed_at CHECK (((last_accessed_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (last_accessed_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_memory_usage_retrieval_count CHECK ((retrieval_count >= 0)),
    CONSTRAINT ck_memory_usage_success_count CHECK ((success_count >= 0))
)
WITH (fillfactor='70');
ALTER TABLE ONLY pgrecall.memory_usage ALTER COLUMN agent_id SET (n_distinct=-0.01);

--
-- Name: TABLE memory_usage; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.memory_usage IS 'Counters of use, apart from agent_memories so that counting never touches a vector or its index; no row until the first use.';

--
-- Name: COLUMN memory_usage.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.agent_id IS 'Whose memory it counts.';

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

COMMENT ON COLUMN pgrecall.memory_usage.last_accessed_at IS 'Last access: a retrieval, an outcome, or the same text added again.';

--
-- Name: COLUMN memory_usage.success_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.success_count IS 'Uses that went well.';

--
-- Name: COLUMN memory_usage.failure_count; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.failure_count IS 'Uses that went wrong.';

--
-- Name: COLUMN memory_usage.feedback_up; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.feedback_up IS 'Feedback for it, weighed: useful 1.';

--
-- Name: COLUMN memory_usage.feedback_down; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_usage.feedback_down IS 'Feedback against it, weighed: not_useful 1, outdated 1, incorrect 3.';

--
-- Name: alembic_version; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.alembic_version (
    version_num character varying(32) NOT NULL
);

--
-- Name: TABLE alembic_version; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.alembic_version IS 'The migrations this schema is at.';

--
-- Name: COLUMN alembic_version.version_num; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.alembic_version.version_num IS 'A revision.';

--
-- Name: component_reputations; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.component_reputations (
    component text NOT NULL,
    reputation double precision NOT NULL,
    CONSTRAINT ck_component_reputations_reputation CHECK (((reputation = (0)::double precision) OR ((reputation >= '1e-100'::double precision) AND (reputation <= (1)::double precision))))
);

--
-- Name: TABLE component_reputations; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.component_reputations IS 'Reputations that trust on write starts from; you may edit them.';

--
-- Name: COLUMN component_reputations.component; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.component_reputations.component IS 'The component that produces memories; *: any other.';

--
-- Name: COLUMN component_reputations.reputation; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.component_reputations.reputation IS 'How far it is trusted, 0 to 1.';

--
-- Name: embedding_model; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.embedding_model (
    is_set boolean DEFAULT true NOT NULL,
    model text NOT NULL,
    CONSTRAINT ck_embedding_model_is_set CHECK (is_set),
    CONSTRAINT ck_embedding_model_model CHECK ((model <> ''::text))
);

--
-- Name: TABLE embedding_model; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.embedding_model IS 'The model that made the embeddings; no row until an embedder has made one.';

--
-- Name: COLUMN embedding_model.is_set; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.embedding_model.is_set IS 'Always true: there is one row at most.';

--
-- Name: COLUMN embedding_model.model; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.embedding_model.model IS 'What its embedder calls it.';

--
-- Name: entity_names; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.entity_names (
    agent_id text NOT NULL,
    word text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    kind text NOT NULL,
    entity text NOT NULL,
    CONSTRAINT ck_entity_names_entity CHECK (((entity <> ''::text) AND (length(entity) <= 200))),
    CONSTRAINT ck_entity_names_kind CHECK ((kind = ANY (ARRAY['entity'::text, 'subject'::text, 'alias'::text])))
);

--
-- Name: TABLE entity_names; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.entity_names IS 'Names by which questions may call the entities and subjects of memories.';

--
-- Name: COLUMN entity_names.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.entity_names.agent_id IS 'Whose memories name it.';

--
-- Name: COLUMN entity_names.word; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.entity_names.word IS 'The first word of the name, by which it is looked up.';

--
-- Name: COLUMN entity_names.name; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.entity_names.name IS 'How it is spelled: lower case, no accents, single spaces.';

--
-- Name: COLUMN entity_names.kind; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.entity_names.kind IS 'entity or subject of a memory, or alias of one.';

--
-- Name: COLUMN entity_names.entity; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.entity_names.entity IS 'The entity or subject, as memories have it.';

--
-- Name: granted_roles; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.granted_roles (
    role text NOT NULL,
    level text NOT NULL,
    CONSTRAINT ck_granted_roles_level CHECK ((level = ANY (ARRAY['reader'::text, 'writer'::text, 'maintainer'::text])))
);

--
-- Name: TABLE granted_roles; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.granted_roles IS 'Roles with a level from grant_access; objects of later versions are granted to them too.';

--
-- Name: COLUMN granted_roles.role; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.granted_roles.role IS 'The role.';

--
-- Name: COLUMN granted_roles.level; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.granted_roles.level IS 'reader, writer or maintainer; each includes those before it.';

--
-- Name: installed_sql; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.installed_sql (
    file text NOT NULL,
    level text NOT NULL,
    objects text[] DEFAULT '{}'::text[] NOT NULL,
    hash text,
    grants text[] DEFAULT '{}'::text[] NOT NULL
);

--
-- Name: TABLE installed_sql; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.installed_sql IS 'Files of functions and views that were applied to this schema, by pgrecall migrate up.';

--
-- Name: COLUMN installed_sql.file; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.installed_sql.file IS 'Its path in the folder sql.';

--
-- Name: COLUMN installed_sql.level; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.installed_sql.level IS 'Who may call its functions: reader, writer, maintainer or owner.';

--
-- Name: COLUMN installed_sql.objects; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.installed_sql.objects IS 'The functions and views that it creates.';

--
-- Name: COLUMN installed_sql.hash; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.installed_sql.hash IS 'SHA-256 of its text; NULL: to be applied again.';

--
-- Name: COLUMN installed_sql.grants; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.installed_sql.grants IS 'Grants to restore after it was dropped and created again.';

--
-- Name: maintenance_runs; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.maintenance_runs (
    agent_id text NOT NULL,
    id uuid NOT NULL,
    policy jsonb NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seconds double precision DEFAULT 0 NOT NULL,
    finished boolean DEFAULT false NOT NULL,
    scanned bigint DEFAULT 0 NOT NULL,
    archived bigint DEFAULT 0 NOT NULL,
    deleted bigint DEFAULT 0 NOT NULL,
    completed bigint DEFAULT 0 NOT NULL,
    orphans bigint DEFAULT 0 NOT NULL,
    events bigint DEFAULT 0 NOT NULL,
    runs bigint DEFAULT 0 NOT NULL,
    tasks jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT ck_maintenance_runs_started_at CHECK (((started_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (started_at <= '9999-12-30 00:00:00+00'::timestamp with time zone)))
);
ALTER TABLE ONLY pgrecall.maintenance_runs ALTER COLUMN agent_id SET (n_distinct=-0.005);

--
-- Name: TABLE maintenance_runs; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.maintenance_runs IS 'Runs of maintenance; a dry run leaves none.';

--
-- Name: COLUMN maintenance_runs.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.agent_id IS 'Whose memories were examined; empty: those of every owner.';

--
-- Name: COLUMN maintenance_runs.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.id IS 'The run, a UUID of version 7.';

--
-- Name: COLUMN maintenance_runs.policy; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.policy IS 'The retention policy: its name, and its rules.';

--
-- Name: COLUMN maintenance_runs.started_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.started_at IS 'When it began.';

--
-- Name: COLUMN maintenance_runs.seconds; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.seconds IS 'How long it took.';

--
-- Name: COLUMN maintenance_runs.finished; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.finished IS 'Whether it did all tasks.';

--
-- Name: COLUMN maintenance_runs.scanned; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.scanned IS 'Live memories examined.';

--
-- Name: COLUMN maintenance_runs.archived; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.archived IS 'Memories archived.';

--
-- Name: COLUMN maintenance_runs.deleted; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.deleted IS 'Memories deleted.';

--
-- Name: COLUMN maintenance_runs.completed; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.completed IS 'Tasks completed because nobody had touched them.';

--
-- Name: COLUMN maintenance_runs.orphans; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.orphans IS 'Counters and links of deleted memories, removed.';

--
-- Name: COLUMN maintenance_runs.events; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.events IS 'Events deleted for their age.';

--
-- Name: COLUMN maintenance_runs.runs; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.runs IS 'Earlier runs deleted for their age.';

--
-- Name: COLUMN maintenance_runs.tasks; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.maintenance_runs.tasks IS 'How many tasks of each kind it did, and left.';

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
ALTER TABLE ONLY pgrecall.memory_events ALTER COLUMN agent_id SET (n_distinct=-0.005);

--
-- Name: TABLE memory_events; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.memory_events IS 'What happened to memories, append-only; a retrieval leaves no row.';

--
-- Name: COLUMN memory_events.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.agent_id IS 'Whose memory it concerns.';

--
-- Name: COLUMN memory_events.memory_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_events.memory_id IS 'The memory it concerns.';

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

COMMENT ON COLUMN pgrecall.memory_events.occurred_at IS 'When it happened.';

--
-- Name: memory_links; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.memory_links (
    agent_id text NOT NULL,
    source_id uuid NOT NULL,
    target_id uuid NOT NULL,
    kind text NOT NULL,
    weight double precision DEFAULT 1 NOT NULL,
    CONSTRAINT ck_memory_links_kind CHECK (((kind <> ''::text) AND (length(kind) <= 200))),
    CONSTRAINT ck_memory_links_two_memories CHECK ((source_id <> target_id)),
    CONSTRAINT ck_memory_links_weight CHECK (((weight = (0)::double precision) OR ((weight >= '1e-100'::double precision) AND (weight <= (1)::double precision))))
);
ALTER TABLE ONLY pgrecall.memory_links ALTER COLUMN agent_id SET (n_distinct=-0.005);

--
-- Name: TABLE memory_links; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.memory_links IS 'Links between two memories of the same owner; followed in both directions.';

--
-- Name: COLUMN memory_links.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_links.agent_id IS 'Whose memories it links.';

--
-- Name: COLUMN memory_links.source_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_links.source_id IS 'The memory it starts from.';

--
-- Name: COLUMN memory_links.target_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_links.target_id IS 'The memory it leads to.';

--
-- Name: COLUMN memory_links.kind; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_links.kind IS 'What the link means: consolidates, or a caller''s own word.';

--
-- Name: COLUMN memory_links.weight; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.memory_links.weight IS 'How strong it is, 0 to 1.';

--
-- Name: output_type_defaults; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.output_type_defaults (
    output_type text NOT NULL,
    trust_curve text NOT NULL,
    trust_half_life_hours double precision NOT NULL,
    CONSTRAINT ck_output_type_defaults_trust_curve CHECK ((trust_curve = ANY (ARRAY['hyperbolic'::text, 'exponential'::text, 'linear'::text]))),
    CONSTRAINT ck_output_type_defaults_trust_half_life_hours CHECK (((trust_half_life_hours >= '0.001'::double precision) AND (trust_half_life_hours <= '1000000000'::double precision)))
);

--
-- Name: TABLE output_type_defaults; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.output_type_defaults IS 'Decay of trust for memories that name none; you may edit it.';

--
-- Name: COLUMN output_type_defaults.output_type; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.output_type_defaults.output_type IS 'A kind of output; *: any other.';

--
-- Name: COLUMN output_type_defaults.trust_curve; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.output_type_defaults.trust_curve IS 'How its trust decays.';

--
-- Name: COLUMN output_type_defaults.trust_half_life_hours; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.output_type_defaults.trust_half_life_hours IS 'Half-life of its trust in hours.';

--
-- Name: owner_vectors; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.owner_vectors (
    agent_id text NOT NULL,
    mean real[],
    memories bigint NOT NULL,
    latest timestamp with time zone,
    computed_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_owner_vectors_computed_at CHECK (((computed_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (computed_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_owner_vectors_latest CHECK (((latest >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (latest <= '9999-12-30 00:00:00+00'::timestamp with time zone)))
);

--
-- Name: TABLE owner_vectors; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.owner_vectors IS 'Vectors of whole owners; derived, and can be computed again.';

--
-- Name: COLUMN owner_vectors.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.owner_vectors.agent_id IS 'Whose memories they are made of.';

--
-- Name: COLUMN owner_vectors.mean; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.owner_vectors.mean IS 'Mean of the embeddings of active memories, each of length 1; NULL: too few.';

--
-- Name: COLUMN owner_vectors.memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.owner_vectors.memories IS 'How many memories it was computed of.';

--
-- Name: COLUMN owner_vectors.latest; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.owner_vectors.latest IS 'The latest created_at of these; a search as of an earlier moment does not use the mean.';

--
-- Name: COLUMN owner_vectors.computed_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.owner_vectors.computed_at IS 'When it was computed, by the server''s clock.';

--
-- Name: profiles; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.profiles (
    name text NOT NULL,
    definition json NOT NULL
);

--
-- Name: TABLE profiles; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.profiles IS 'Profiles that pgrecall profiles install stored; their functions are made from these rows.';

--
-- Name: COLUMN profiles.name; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.profiles.name IS 'Its name, as recall takes it.';

--
-- Name: COLUMN profiles.definition; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.profiles.definition IS 'Its signals with their weights and parameters, as in a file.';

--
-- Name: rank_indexes; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.rank_indexes (
    agent_id text NOT NULL,
    relation text NOT NULL,
    space integer NOT NULL,
    as_of timestamp with time zone NOT NULL,
    built_at timestamp with time zone NOT NULL,
    memories bigint NOT NULL,
    at_least bigint NOT NULL,
    m integer NOT NULL,
    ef_construction integer NOT NULL,
    seconds double precision NOT NULL,
    candidates integer DEFAULT 100 NOT NULL,
    term_memories bigint,
    common_terms jsonb,
    likeness double precision,
    written_until timestamp with time zone NOT NULL,
    candidates_alone integer DEFAULT 400 NOT NULL,
    kept double precision,
    kept_since double precision,
    axes public.halfvec[],
    candidates_by_profile jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT ck_rank_indexes_as_of CHECK (((as_of >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (as_of <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_rank_indexes_built_at CHECK (((built_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (built_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_rank_indexes_written_until CHECK (((written_until >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (written_until <= '9999-12-30 00:00:00+00'::timestamp with time zone)))
);

--
-- Name: TABLE rank_indexes; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.rank_indexes IS 'Rank indexes, one for each large owner; derived, and can be rebuilt.';

--
-- Name: COLUMN rank_indexes.agent_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.agent_id IS 'Whose memories it ranks.';

--
-- Name: COLUMN rank_indexes.relation; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.relation IS 'The table of positions that is in use, in this schema.';

--
-- Name: COLUMN rank_indexes.space; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.space IS 'Version of the space they lie in.';

--
-- Name: COLUMN rank_indexes.as_of; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.as_of IS 'The moment that positions were computed for.';

--
-- Name: COLUMN rank_indexes.built_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.built_at IS 'When its build began.';

--
-- Name: COLUMN rank_indexes.memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.memories IS 'Memories in it.';

--
-- Name: COLUMN rank_indexes.at_least; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.at_least IS 'Used for searches if it holds this many memories.';

--
-- Name: COLUMN rank_indexes.m; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.m IS 'Links of a node of the HNSW graph.';

--
-- Name: COLUMN rank_indexes.ef_construction; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.ef_construction IS 'Candidates considered for each node when it was built.';

--
-- Name: COLUMN rank_indexes.seconds; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.seconds IS 'How long the build took.';

--
-- Name: COLUMN rank_indexes.candidates; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.candidates IS 'Candidates that a search by another profile takes from it at first: the most that a built-in profile needs.';

--
-- Name: COLUMN rank_indexes.term_memories; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.term_memories IS 'How many memories the owner had at its build, created by as_of.';

--
-- Name: COLUMN rank_indexes.common_terms; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.common_terms IS 'Common terms and how many memories had each; others are counted.';

--
-- Name: COLUMN rank_indexes.likeness; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.likeness IS 'Cosine similarity that the nearest memory met by a walk usually has.';

--
-- Name: COLUMN rank_indexes.written_until; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.written_until IS 'Memories written or changed from then on are not in it and are scored beside it.';

--
-- Name: COLUMN rank_indexes.candidates_alone; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.candidates_alone IS 'The number of candidates where one signal has most of the weight.';

--
-- Name: COLUMN rank_indexes.kept; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.kept IS 'How much of embeddings the axes described at its build, 0 to 1.';

--
-- Name: COLUMN rank_indexes.kept_since; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.kept_since IS 'The same of memories that were placed in it since.';

--
-- Name: COLUMN rank_indexes.axes; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.axes IS 'The directions of embeddings whose coordinates positions have; none: they have whole embeddings.';

--
-- Name: COLUMN rank_indexes.candidates_by_profile; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_indexes.candidates_by_profile IS 'The number of candidates for each built-in profile that its build measured.';

--
-- Name: rank_positions; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.rank_positions (
    memory_id uuid NOT NULL,
    index_id uuid NOT NULL,
    "position" public.halfvec NOT NULL,
    words bigint[] NOT NULL,
    bytes integer NOT NULL,
    placed boolean DEFAULT false NOT NULL
)
PARTITION BY LIST (index_id);

--
-- Name: TABLE rank_positions; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.rank_positions IS 'Positions of memories in the rank space, a partition for each rank index; read only by the partition''s name, which is in rank_indexes.';

--
-- Name: COLUMN rank_positions.memory_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_positions.memory_id IS 'The memory.';

--
-- Name: COLUMN rank_positions.index_id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_positions.index_id IS 'The rank index it belongs to.';

--
-- Name: COLUMN rank_positions."position"; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_positions."position" IS 'Its coordinates in the rank space; as many in all of a partition.';

--
-- Name: COLUMN rank_positions.words; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_positions.words IS 'The keys of its words.';

--
-- Name: COLUMN rank_positions.bytes; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_positions.bytes IS 'Length of its content in bytes.';

--
-- Name: COLUMN rank_positions.placed; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.rank_positions.placed IS 'True if it was written after the build: then it is not in the graph, and searches compare it.';

--
-- Name: service_keys; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.service_keys (
    id text NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    owners text[] DEFAULT '{}'::text[] NOT NULL,
    scope text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT ck_service_keys_created_at CHECK (((created_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (created_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_service_keys_hash CHECK ((octet_length(hash) = 32)),
    CONSTRAINT ck_service_keys_name CHECK (((name <> ''::text) AND (length(name) <= 200))),
    CONSTRAINT ck_service_keys_owners CHECK (((cardinality(owners) > 0) AND (array_position(owners, NULL::text) IS NULL))),
    CONSTRAINT ck_service_keys_revoked_at CHECK (((revoked_at >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (revoked_at <= '9999-12-30 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT ck_service_keys_scope CHECK ((scope = ANY (ARRAY['read'::text, 'write'::text, 'maintain'::text])))
);

--
-- Name: TABLE service_keys; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.service_keys IS 'Keys of the HTTP service, from pgrecall keys; their secrets are not stored.';

--
-- Name: COLUMN service_keys.id; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.service_keys.id IS 'What the key is called; a part of its token.';

--
-- Name: COLUMN service_keys.name; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.service_keys.name IS 'What it is for, in the words of whoever created it.';

--
-- Name: COLUMN service_keys.hash; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.service_keys.hash IS 'SHA-256 of its secret.';

--
-- Name: COLUMN service_keys.owners; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.service_keys.owners IS 'Whose memories it is for; a team is team:<id>.';

--
-- Name: COLUMN service_keys.scope; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.service_keys.scope IS 'read, write or maintain; each includes those before it.';

--
-- Name: COLUMN service_keys.created_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.service_keys.created_at IS 'When it was created.';

--
-- Name: COLUMN service_keys.revoked_at; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.service_keys.revoked_at IS 'When it was revoked; NULL: in use.';

--
-- Name: tier_defaults; Type: TABLE; Schema: pgrecall; Owner: -
--

CREATE TABLE pgrecall.tier_defaults (
    tier text NOT NULL,
    expires_after_hours double precision,
    is_default boolean DEFAULT false NOT NULL,
    CONSTRAINT ck_tier_defaults_expires_after_hours CHECK (((expires_after_hours >= '0.001'::double precision) AND (expires_after_hours <= '10000000'::double precision))),
    CONSTRAINT ck_tier_defaults_tier CHECK ((tier = ANY (ARRAY['short'::text, 'medium'::text, 'long'::text])))
);

--
-- Name: TABLE tier_defaults; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON TABLE pgrecall.tier_defaults IS 'Expiry by tier for memories that name none; you may edit it.';

--
-- Name: COLUMN tier_defaults.tier; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.tier_defaults.tier IS 'short, medium or long.';

--
-- Name: COLUMN tier_defaults.expires_after_hours; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.tier_defaults.expires_after_hours IS 'How long after being written a memory of this tier expires; NULL: never.';

--
-- Name: COLUMN tier_defaults.is_default; Type: COMMENT; Schema: pgrecall; Owner: -
--

COMMENT ON COLUMN pgrecall.tier_defaults.is_default IS 'The tier of a memory that names none.';

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
-- Name: component_reputations pk_component_reputations; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.component_reputations
    ADD CONSTRAINT pk_component_reputations PRIMARY KEY (component);

--
-- Name: embedding_model pk_embedding_model; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.embedding_model
    ADD CONSTRAINT pk_embedding_model PRIMARY KEY (is_set);

--
-- Name: entity_names pk_entity_names; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.entity_names
    ADD CONSTRAINT pk_entity_names PRIMARY KEY (agent_id, word, name, kind, entity);

--
-- Name: granted_roles pk_granted_roles; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.granted_roles
    ADD CONSTRAINT pk_granted_roles PRIMARY KEY (role);

--
-- Name: installed_sql pk_installed_sql; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.installed_sql
    ADD CONSTRAINT pk_installed_sql PRIMARY KEY (file);

--
-- Name: maintenance_runs pk_maintenance_runs; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.maintenance_runs
    ADD CONSTRAINT pk_maintenance_runs PRIMARY KEY (agent_id, id);

--
-- Name: memory_events pk_memory_events; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.memory_events
    ADD CONSTRAINT pk_memory_events PRIMARY KEY (agent_id, memory_id, id);

--
-- Name: memory_links pk_memory_links; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.memory_links
    ADD CONSTRAINT pk_memory_links PRIMARY KEY (agent_id, source_id, target_id, kind);

--
-- Name: memory_usage pk_memory_usage; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.memory_usage
    ADD CONSTRAINT pk_memory_usage PRIMARY KEY (agent_id, memory_id);

--
-- Name: output_type_defaults pk_output_type_defaults; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.output_type_defaults
    ADD CONSTRAINT pk_output_type_defaults PRIMARY KEY (output_type);

--
-- Name: owner_vectors pk_owner_vectors; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.owner_vectors
    ADD CONSTRAINT pk_owner_vectors PRIMARY KEY (agent_id);

--
-- Name: profiles pk_profiles; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.profiles
    ADD CONSTRAINT pk_profiles PRIMARY KEY (name);

--
-- Name: rank_indexes pk_rank_indexes; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.rank_indexes
    ADD CONSTRAINT pk_rank_indexes PRIMARY KEY (agent_id);

--
-- Name: rank_positions pk_rank_positions; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.rank_positions
    ADD CONSTRAINT pk_rank_positions PRIMARY KEY (memory_id, index_id);

--
-- Name: service_keys pk_service_keys; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.service_keys
    ADD CONSTRAINT pk_service_keys PRIMARY KEY (id);

--
-- Name: tier_defaults pk_tier_defaults; Type: CONSTRAINT; Schema: pgrecall; Owner: -
--

ALTER TABLE ONLY pgrecall.tier_defaults
    ADD CONSTRAINT pk_tier_defaults PRIMARY KEY (tier);

--
-- Name: ix_agent_memories_agent_id_content_hash; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_agent_memories_agent_id_content_hash ON pgrecall.agent_memories USING btree (agent_id, content_hash) WHERE (superseded_by IS NOT NULL);

--
-- Name: ix_agent_memories_agent_id_expires_at; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_agent_memories_agent_id_expires_at ON pgrecall.agent_memories USING btree (agent_id, expires_at) WHERE ((expires_at IS NOT NULL) AND (status <> 'archived'::text));

--
-- Name: ix_agent_memories_agent_id_inserted_at; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_agent_memories_agent_id_inserted_at ON pgrecall.agent_memories USING btree (agent_id, inserted_at) WHERE (inserted_at IS NOT NULL);

--
-- Name: ix_agent_memories_content_hash_edition; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE UNIQUE INDEX ix_agent_memories_content_hash_edition ON pgrecall.agent_memories USING btree (agent_id, content_hash, edition) WHERE ((content_hash IS NOT NULL) AND (status = 'active'::text));

--
-- Name: ix_agent_memories_newest_of_subject; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_agent_memories_newest_of_subject ON pgrecall.agent_memories USING btree (agent_id, "left"(subject, 200), COALESCE(created_at, '-infinity'::timestamp with time zone), id) WHERE ((subject IS NOT NULL) AND (status = 'active'::text) AND (invalidated_at IS NULL));

--
-- Name: ix_agent_memories_turns; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_agent_memories_turns ON pgrecall.agent_memories USING btree (agent_id, session, COALESCE(turn, 2147483647), COALESCE(created_at, 'infinity'::timestamp with time zone), id) WHERE (session IS NOT NULL);

--
-- Name: ix_agent_memories_words; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_agent_memories_words ON pgrecall.agent_memories USING gin (pgrecall.term_keys(agent_id, terms)) WITH (fastupdate=off);

--
-- Name: ix_entity_names_entity; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_entity_names_entity ON pgrecall.entity_names USING btree (agent_id, kind, entity);

--
-- Name: ix_entity_names_left; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_entity_names_left ON pgrecall.entity_names USING btree (agent_id, "left"(word, 3)) WHERE (length(word) >= 6);

--
-- Name: ix_entity_names_right; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_entity_names_right ON pgrecall.entity_names USING btree (agent_id, "right"(word, 3)) WHERE (length(word) >= 6);

--
-- Name: ix_memory_events_agent_id_occurred_at; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_memory_events_agent_id_occurred_at ON pgrecall.memory_events USING btree (agent_id, occurred_at) WHERE (event_type <> 'initial'::text);

--
-- Name: ix_memory_links_agent_id_target_id; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_memory_links_agent_id_target_id ON pgrecall.memory_links USING btree (agent_id, target_id);

--
-- Name: ix_rank_positions_words; Type: INDEX; Schema: pgrecall; Owner: -
--

CREATE INDEX ix_rank_positions_words ON ONLY pgrecall.rank_positions USING gin (words) WITH (fastupdate=off);

--
-- Name: rank_positions; Type: ROW SECURITY; Schema: pgrecall; Owner: -
--

ALTER TABLE pgrecall.rank_positions ENABLE ROW LEVEL SECURITY;

--
-- PostgreSQL database dump complete
--

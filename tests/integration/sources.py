"""The tables of the systems that have a page about moving in."""

from __future__ import annotations

GRACE = """
CREATE TABLE cognition_memory_artifacts (
    id serial PRIMARY KEY, memory_ref text, loop_id text, component text, output_type text,
    result_data text, reasoning_chain_id text, trust_score float8, provenance_score float8,
    consensus_score float8, governance_score float8, usage_score float8, decay_curve text,
    half_life_hours float8, access_count integer, success_count integer, failure_count integer,
    last_accessed_at timestamptz, confidence float8, quality_score float8, importance float8,
    constitutional_compliance boolean, requires_approval boolean, domain text, category text,
    policy_tags text, meta_data text, created_at timestamptz, updated_at timestamptz,
    expires_at timestamptz, is_archived boolean, is_deleted boolean,
    verification_envelope_id text, audit_log_id integer);
CREATE TABLE cognition_trust_events (
    id serial PRIMARY KEY, artifact_id integer, event_type text, reason text,
    old_trust_score float8, new_trust_score float8, delta float8, provenance_delta float8 DEFAULT 0,
    consensus_delta float8 DEFAULT 0, governance_delta float8 DEFAULT 0,
    usage_delta float8 DEFAULT 0, actor text, meta_data text, created_at timestamptz);
CREATE TABLE cognition_memory_index (
    id serial PRIMARY KEY, artifact_id integer, index_type text, index_value text,
    weight float8 DEFAULT 1, created_at timestamptz DEFAULT now());
"""
IBEX_HARNESS = """
CREATE TABLE memories (
    id uuid PRIMARY KEY, org_id uuid, agent_id uuid, session_id uuid, created_by_user uuid,
    content text, content_hash text, content_tokens integer, category text,
    status text DEFAULT 'active', deleted_at timestamptz, valid_from timestamptz,
    valid_until timestamptz, observed_at timestamptz, created_at timestamptz,
    updated_at timestamptz, embedding vector(8), embedding_model text, embedding_dim integer,
    confidence numeric(3, 2), usefulness_score numeric(3, 2), source text DEFAULT 'extracted',
    superseded_by uuid, merged_into uuid, retrieval_count integer, last_retrieved_at timestamptz,
    pii_detected boolean DEFAULT false, pii_redacted boolean DEFAULT false,
    metadata jsonb DEFAULT '{}');
CREATE TABLE memory_labels (
    memory_id uuid, org_id uuid, label text, confidence numeric(3, 2),
    created_at timestamptz DEFAULT now());
CREATE TABLE memory_relationships (
    id uuid DEFAULT gen_random_uuid(), org_id uuid, source_memory_id uuid, target_memory_id uuid,
    relationship_type text, confidence numeric(3, 2), resolution_notes text,
    created_at timestamptz);
CREATE TABLE memory_feedback (
    id uuid DEFAULT gen_random_uuid(), org_id uuid, memory_id uuid, agent_id uuid, feedback text,
    session_id uuid, trace_id uuid, notes text, created_at timestamptz DEFAULT now(),
    updated_at timestamptz);
"""
RADAROS = """
CREATE TABLE kv_store (
    namespace text NOT NULL, key text NOT NULL, value jsonb NOT NULL,
    updated_at timestamptz DEFAULT now(), PRIMARY KEY (namespace, key));
"""
LEARNINGS = """
CREATE TABLE agentium_learnings (
    id text PRIMARY KEY, content text NOT NULL, embedding vector(8), metadata jsonb DEFAULT '{}',
    created_at timestamptz DEFAULT now());
"""

-- An argument that is not given is NULL, and `assessed` decides the field. To store no value, pass
-- created_at '-infinity' (unknown), expires_at 'infinity' (never), trust 'NaN' (never assessed),
-- trust_curve 'none' or trust_half_life_hours 'NaN' (none of its own).
CREATE OR REPLACE FUNCTION new_memory(
    content text, embedding agent_memories.embedding%TYPE DEFAULT NULL,
    embedding_model text DEFAULT NULL, id uuid DEFAULT NULL, key text DEFAULT NULL,
    memory_type text DEFAULT NULL, additional_types text[] DEFAULT NULL,
    memory_nature text DEFAULT NULL, content_type text DEFAULT NULL, tier text DEFAULT NULL,
    subject text DEFAULT NULL, tags text[] DEFAULT NULL, entities text[] DEFAULT NULL,
    metadata jsonb DEFAULT NULL, importance float8 DEFAULT NULL, usefulness float8 DEFAULT NULL,
    confidence float8 DEFAULT NULL, trust float8 DEFAULT NULL, trust_provenance float8 DEFAULT NULL,
    trust_consensus float8 DEFAULT NULL, trust_governance float8 DEFAULT NULL,
    trust_usage float8 DEFAULT NULL, trust_curve text DEFAULT NULL,
    trust_half_life_hours float8 DEFAULT NULL, component text DEFAULT NULL,
    output_type text DEFAULT NULL, domain text DEFAULT NULL, category text DEFAULT NULL,
    loop text DEFAULT NULL, quality_score float8 DEFAULT NULL, compliant boolean DEFAULT NULL,
    requires_approval boolean DEFAULT NULL, has_errors boolean DEFAULT NULL,
    violates_policy boolean DEFAULT NULL, under_policy_review boolean DEFAULT NULL,
    created_at timestamptz DEFAULT NULL, observed_at timestamptz DEFAULT NULL,
    valid_from timestamptz DEFAULT NULL, valid_until timestamptz DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL, tokens integer DEFAULT NULL, session text DEFAULT NULL,
    turn integer DEFAULT NULL) RETURNS agent_memories
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    -- In the order of the table's columns.
    RETURN ROW(
        NULL, id, usefulness, confidence, importance, trust, trust_half_life_hours, created_at,
        NULL, valid_from, valid_until, expires_at, NULL, observed_at, NULL, tier, memory_type,
        trust_curve, entities, embedding, content, NULL, embedding_model, additional_types,
        memory_nature, content_type, subject, tags, metadata, NULL, trust_provenance, trust_consensus,
        trust_governance, trust_usage, component, output_type, domain, category, loop,
        quality_score, compliant, requires_approval, has_errors, violates_policy,
        under_policy_review, NULL, NULL, NULL, NULL, tokens, key, NULL, session, turn)::agent_memories;

COMMENT ON FUNCTION new_memory IS
    'A memory to be stored, for remember_rows and supersede; fields that are not given get their defaults.';

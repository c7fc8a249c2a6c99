CREATE OR REPLACE FUNCTION remember(
    agent text, content text, embedding agent_memories.embedding%TYPE DEFAULT NULL,
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
    "loop" text DEFAULT NULL, quality_score float8 DEFAULT NULL, compliant boolean DEFAULT NULL,
    requires_approval boolean DEFAULT NULL, has_errors boolean DEFAULT NULL,
    violates_policy boolean DEFAULT NULL, under_policy_review boolean DEFAULT NULL,
    created_at timestamptz DEFAULT NULL, observed_at timestamptz DEFAULT NULL,
    valid_from timestamptz DEFAULT NULL, valid_until timestamptz DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL, tokens integer DEFAULT NULL,
    session text DEFAULT NULL, turn integer DEFAULT NULL, labels jsonb DEFAULT NULL,
    duplicates text DEFAULT 'bump', near_duplicates float8 DEFAULT NULL,
    check_compliance boolean DEFAULT true, actor text DEFAULT session_user,
    supersede_subject boolean DEFAULT false, run text DEFAULT NULL)
    RETURNS TABLE (
        ordinal integer, memory_id uuid, outcome text, similarity float8, same_subject uuid[])
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT r.ordinal, r.memory_id, r.outcome, r.similarity, r.same_subject FROM remember_rows(
        agent, ARRAY[new_memory(
            content, embedding, embedding_model, id, key, memory_type, additional_types,
            memory_nature, content_type, tier, subject, tags, entities, metadata, importance,
            usefulness, confidence, trust, trust_provenance, trust_consensus, trust_governance,
            trust_usage, trust_curve, trust_half_life_hours, component, output_type, domain,
            category, "loop", quality_score, compliant, requires_approval, has_errors,
            violates_policy, under_policy_review, created_at, observed_at, valid_from,
            valid_until, expires_at, tokens, session, turn)],
        duplicates, near_duplicates, check_compliance, actor,
        CASE WHEN labels IS NOT NULL THEN ARRAY[labels] END, supersede_subject, run) r;
END
$function$;

COMMENT ON FUNCTION remember IS
    'Stores one memory, unless the same memory exists already; see remember_rows and new_memory. labels: a JSON array, such as ["tea", {"value": "Porto", "kind": "concept", "weight": 0.8}].';

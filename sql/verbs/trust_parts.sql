-- Inlined, so that the rest of the row is not read.
CREATE OR REPLACE FUNCTION trust_parts(m agent_memories) RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN jsonb_build_object(
        'trust', m.trust, 'trust_provenance', m.trust_provenance,
        'trust_consensus', m.trust_consensus, 'trust_governance', m.trust_governance,
        'trust_usage', m.trust_usage);

COMMENT ON FUNCTION trust_parts IS 'Trust and its parts, as events record them.';

CREATE OR REPLACE FUNCTION trust_parts(
    trust float8, provenance float8, consensus float8, governance float8, usage float8)
    RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN jsonb_build_object('trust', trust, 'trust_provenance', provenance,
                              'trust_consensus', consensus, 'trust_governance', governance,
                              'trust_usage', usage);

COMMENT ON FUNCTION trust_parts IS
    'Returns trust and its parts, as events record them.';

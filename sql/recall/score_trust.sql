CREATE OR REPLACE FUNCTION score_trust(
    trust float8, last_accessed_at timestamptz, trust_curve text, trust_half_life_hours float8,
    embedding agent_memories.embedding%TYPE, created_at timestamptz, importance float8,
    query agent_memories.embedding%TYPE, moment timestamptz, apply_decay boolean,
    weights float8[])
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN weights[1] * CASE WHEN apply_decay THEN decayed_trust(trust, last_accessed_at, moment, trust_curve, trust_half_life_hours, 0.5) ELSE coalesce(trust, 0.5) END
         + weights[2] * similarity(embedding, query, 0.0)
         + weights[3] * recency_hyperbolic(created_at, moment, 7, 0.5)
         + weights[4] * importance;

CREATE OR REPLACE FUNCTION signals_trust(
    trust float8, last_accessed_at timestamptz, trust_curve text, trust_half_life_hours float8,
    embedding agent_memories.embedding%TYPE, created_at timestamptz, importance float8,
    query agent_memories.embedding%TYPE, moment timestamptz, apply_decay boolean)
    RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN jsonb_build_object(
        'trust', CASE WHEN apply_decay THEN decayed_trust(trust, last_accessed_at, moment, trust_curve, trust_half_life_hours, 0.5) ELSE coalesce(trust, 0.5) END,
        'similarity', similarity(embedding, query, 0.0),
        'recency', recency_hyperbolic(created_at, moment, 7, 0.5),
        'importance', importance);

CREATE OR REPLACE FUNCTION profile_trust() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{"reads": "m.trust, u.last_accessed_at, m.trust_curve, m.trust_half_life_hours, m.embedding, m.created_at, m.importance, q.query, q.moment, q.apply_decay", "requires_embedding": false, "space": 1, "axes": 25,
 "signals": [
  {"name": "trust", "weight": 0.4, "reads_usage": true, "roughly": true, "terms": [{"axis": 24, "share": 2.23606797749979}, {"axis": 5, "share": 3.162277660168379, "moment": 0.0, "after": 7.0}, {"axis": 6, "share": 3.162277660168379, "moment": 7.0, "before": 0.0, "after": 30.0}, {"axis": 7, "share": 3.162277660168379, "moment": 30.0, "before": 7.0}], "undecayed": {"terms": [{"axis": 24, "share": 2.23606797749979}, {"axis": 4, "share": 3.162277660168379}]}},
  {"name": "similarity", "weight": 0.35, "terms": []},
  {"name": "recency", "weight": 0.15, "terms": [{"axis": 25, "share": 2.23606797749979}, {"axis": 9, "share": 0.3905659746587947, "half_life": 4.0}, {"axis": 10, "share": 2.2971129728151922, "half_life": 14.0}, {"axis": 8, "share": 0.48395328461548626, "half_life": 1.0}, {"axis": 9, "share": 0.5687447994229969, "half_life": 4.0}, {"axis": 8, "share": 0.03926769857980188, "half_life": 1.0}]},
  {"name": "importance", "weight": 0.1, "terms": [{"axis": 2, "share": 1.6666666666666667}]}]}'::jsonb;

COMMENT ON FUNCTION score_trust IS
    'The score by the profile trust: 0.4 trust + 0.35 similarity + 0.15 recency + 0.1 importance.';
COMMENT ON FUNCTION signals_trust IS 'The value of each signal of the profile trust.';
COMMENT ON FUNCTION profile_trust IS
    'What recall has to know of the profile trust: its signals, and what it reads.';

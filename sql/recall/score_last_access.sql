CREATE OR REPLACE FUNCTION score_last_access(
    embedding agent_memories.embedding%TYPE, importance float8, created_at timestamptz,
    last_accessed_at timestamptz, query agent_memories.embedding%TYPE, moment timestamptz,
    weights float8[])
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN weights[1] * similarity(embedding, query, 0.0)
         + weights[2] * importance
         + weights[3] * recency_exponential(coalesce(last_accessed_at, created_at), moment, 0.05, 0.5);

CREATE OR REPLACE FUNCTION signals_last_access(
    embedding agent_memories.embedding%TYPE, importance float8, created_at timestamptz,
    last_accessed_at timestamptz, query agent_memories.embedding%TYPE, moment timestamptz)
    RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN jsonb_build_object(
        'similarity', similarity(embedding, query, 0.0),
        'importance', importance,
        'recency', recency_exponential(coalesce(last_accessed_at, created_at), moment, 0.05, 0.5));

CREATE OR REPLACE FUNCTION profile_last_access() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{"reads": "m.embedding, m.importance, m.created_at, u.last_accessed_at, q.query, q.moment", "requires_embedding": true, "space": 1, "axes": 25,
 "signals": [
  {"name": "similarity", "weight": 0.5, "terms": []},
  {"name": "importance", "weight": 0.3, "terms": [{"axis": 2, "share": 1.6666666666666667}]},
  {"name": "recency", "weight": 0.2, "reads_usage": true, "terms": [{"axis": 25, "share": 2.23606797749979}, {"axis": 14, "share": 0.02968163771466559, "half_life": 4.0}, {"axis": 15, "share": 3.749963092377606, "half_life": 14.0}]}]}'::jsonb;

COMMENT ON FUNCTION score_last_access IS
    'The score by the profile last_access: 0.5 similarity + 0.3 importance + 0.2 recency.';
COMMENT ON FUNCTION signals_last_access IS 'The value of each signal of the profile last_access.';
COMMENT ON FUNCTION profile_last_access IS
    'What recall has to know of the profile last_access: its signals, and what it reads.';

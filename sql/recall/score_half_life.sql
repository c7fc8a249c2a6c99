CREATE OR REPLACE FUNCTION score_half_life(
    embedding agent_memories.embedding%TYPE, created_at timestamptz,
    last_accessed_at timestamptz, importance float8, query agent_memories.embedding%TYPE,
    moment timestamptz, weights float8[])
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN weights[1] * similarity(embedding, query, 0.5)
         + weights[2] * recency_exponential(greatest(last_accessed_at, created_at), moment, 0.049510512897138946, 0.5)
         + weights[3] * importance;

CREATE OR REPLACE FUNCTION signals_half_life(
    embedding agent_memories.embedding%TYPE, created_at timestamptz,
    last_accessed_at timestamptz, importance float8, query agent_memories.embedding%TYPE,
    moment timestamptz)
    RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN jsonb_build_object(
        'similarity', similarity(embedding, query, 0.5),
        'recency', recency_exponential(greatest(last_accessed_at, created_at), moment, 0.049510512897138946, 0.5),
        'importance', importance);

CREATE OR REPLACE FUNCTION profile_half_life() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{"reads": "m.embedding, m.created_at, u.last_accessed_at, m.importance, q.query, q.moment", "requires_embedding": false, "space": 1, "axes": 25,
 "signals": [
  {"name": "similarity", "weight": 0.4, "terms": [{"axis": 23, "share": 2.23606797749979}]},
  {"name": "recency", "weight": 0.3, "reads_usage": true, "terms": [{"axis": 25, "share": 2.23606797749979}, {"axis": 15, "share": 3.7796447300922718, "half_life": 14.0}]},
  {"name": "importance", "weight": 0.3, "terms": [{"axis": 2, "share": 1.6666666666666667}]}]}'::jsonb;

COMMENT ON FUNCTION score_half_life IS
    'The score by the profile half_life: 0.4 similarity + 0.3 recency + 0.3 importance.';
COMMENT ON FUNCTION signals_half_life IS 'The value of each signal of the profile half_life.';
COMMENT ON FUNCTION profile_half_life IS
    'What recall has to know of the profile half_life: its signals, and what it reads.';

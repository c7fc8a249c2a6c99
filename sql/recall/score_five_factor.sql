CREATE OR REPLACE FUNCTION score_five_factor(
    embedding agent_memories.embedding%TYPE, created_at timestamptz, usefulness float8,
    confidence float8, retrieval_count integer, query agent_memories.embedding%TYPE,
    moment timestamptz, weights float8[])
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN weights[1] * similarity(embedding, query, 0.0)
         + weights[2] * recency_exponential(created_at, moment, 0.05, 0.5)
         + weights[3] * usefulness
         + weights[4] * confidence
         + weights[5] * frequency(retrieval_count, 50);

CREATE OR REPLACE FUNCTION signals_five_factor(
    embedding agent_memories.embedding%TYPE, created_at timestamptz, usefulness float8,
    confidence float8, retrieval_count integer, query agent_memories.embedding%TYPE,
    moment timestamptz)
    RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN jsonb_build_object(
        'similarity', similarity(embedding, query, 0.0),
        'recency', recency_exponential(created_at, moment, 0.05, 0.5),
        'usefulness', usefulness,
        'confidence', confidence,
        'frequency', frequency(retrieval_count, 50));

CREATE OR REPLACE FUNCTION profile_five_factor() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{"reads": "m.embedding, m.created_at, m.usefulness, m.confidence, u.retrieval_count, q.query, q.moment", "requires_embedding": false, "space": 1, "axes": 25,
 "signals": [
  {"name": "similarity", "weight": 0.4, "terms": []},
  {"name": "recency", "weight": 0.25, "terms": [{"axis": 25, "share": 2.23606797749979}, {"axis": 9, "share": 0.02968163771466559, "half_life": 4.0}, {"axis": 10, "share": 3.749963092377606, "half_life": 14.0}]},
  {"name": "usefulness", "weight": 0.2, "terms": [{"axis": 1, "share": 2.041241452319315}]},
  {"name": "confidence", "weight": 0.1, "terms": [{"axis": 3, "share": 2.8867513459481287}]},
  {"name": "frequency", "weight": 0.05, "reads_usage": true, "terms": [{"axis": 22, "share": 4.08248290463863}]}]}'::jsonb;

COMMENT ON FUNCTION score_five_factor IS
    'The score by the profile five_factor: 0.4 similarity + 0.25 recency + 0.2 usefulness + 0.1 confidence + 0.05 frequency.';
COMMENT ON FUNCTION signals_five_factor IS 'The value of each signal of the profile five_factor.';
COMMENT ON FUNCTION profile_five_factor IS
    'What recall has to know of the profile five_factor: its signals, and what it reads.';

CREATE OR REPLACE FUNCTION score_hybrid(
    embedding agent_memories.embedding%TYPE, created_at timestamptz, importance float8,
    keyword float8, query agent_memories.embedding%TYPE, moment timestamptz, weights float8[])
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN weights[1] * similarity(embedding, query, 0.0)
         + weights[2] * keyword
         + weights[3] * recency_exponential(created_at, moment, 0.007701635339554948, 0.5)
         + weights[4] * importance;

CREATE OR REPLACE FUNCTION signals_hybrid(
    embedding agent_memories.embedding%TYPE, created_at timestamptz, importance float8,
    keyword float8, query agent_memories.embedding%TYPE, moment timestamptz)
    RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN jsonb_build_object(
        'similarity', similarity(embedding, query, 0.0),
        'keyword', keyword,
        'recency', recency_exponential(created_at, moment, 0.007701635339554948, 0.5),
        'importance', importance);

CREATE OR REPLACE FUNCTION profile_hybrid() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{"reads": "m.embedding, m.created_at, m.importance, coalesce(words.share, 0), q.query, q.moment", "requires_embedding": false, "space": 1, "axes": 25,
 "signals": [
  {"name": "similarity", "weight": 0.6, "terms": []},
  {"name": "keyword", "weight": 0.3, "terms": []},
  {"name": "recency", "weight": 0.05, "terms": [{"axis": 25, "share": 2.23606797749979}, {"axis": 11, "share": 1.8898223650461359, "half_life": 45.0}, {"axis": 12, "share": 1.8898223650461359, "half_life": 180.0}]},
  {"name": "importance", "weight": 0.05, "terms": [{"axis": 2, "share": 1.6666666666666667}]}]}'::jsonb;

COMMENT ON FUNCTION score_hybrid IS
    'The score by the profile hybrid: 0.6 similarity + 0.3 keyword + 0.05 recency + 0.05 importance.';
COMMENT ON FUNCTION signals_hybrid IS 'The value of each signal of the profile hybrid.';
COMMENT ON FUNCTION profile_hybrid IS
    'What recall has to know of the profile hybrid: its signals, and what it reads.';

CREATE OR REPLACE FUNCTION score_tiered(
    embedding agent_memories.embedding%TYPE, tier text, created_at timestamptz,
    last_accessed_at timestamptz, importance float8, retrieval_count integer, usefulness float8,
    entities text[], query agent_memories.embedding%TYPE, moment timestamptz,
    query_entities text[], weights float8[])
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN weights[1] * similarity(embedding, query, 0.0)
         + weights[2] * recency_exponential(coalesce(last_accessed_at, created_at), moment, CASE WHEN (tier = 'short') THEN 2.772588722239781 WHEN (tier = 'medium') THEN 0.09902102579427789 WHEN (tier = 'long') THEN 0.007701635339554948 ELSE 0.007701635339554948 END, 0.5)
         + weights[3] * importance
         + weights[4] * frequency(retrieval_count, 20)
         + weights[5] * usefulness
         + weights[6] * entity_overlap(entities, query_entities);

CREATE OR REPLACE FUNCTION signals_tiered(
    embedding agent_memories.embedding%TYPE, tier text, created_at timestamptz,
    last_accessed_at timestamptz, importance float8, retrieval_count integer, usefulness float8,
    entities text[], query agent_memories.embedding%TYPE, moment timestamptz,
    query_entities text[])
    RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN jsonb_build_object(
        'similarity', similarity(embedding, query, 0.0),
        'recency', recency_exponential(coalesce(last_accessed_at, created_at), moment, CASE WHEN (tier = 'short') THEN 2.772588722239781 WHEN (tier = 'medium') THEN 0.09902102579427789 WHEN (tier = 'long') THEN 0.007701635339554948 ELSE 0.007701635339554948 END, 0.5),
        'importance', importance,
        'frequency', frequency(retrieval_count, 20),
        'usefulness', usefulness,
        'entity_overlap', entity_overlap(entities, query_entities));

CREATE OR REPLACE FUNCTION profile_tiered() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{"reads": "m.embedding, m.tier, m.created_at, u.last_accessed_at, m.importance, u.retrieval_count, m.usefulness, m.entities, q.query, q.moment, q.query_entities", "requires_embedding": false, "space": 1, "axes": 25,
 "signals": [
  {"name": "similarity", "weight": 0.4, "terms": []},
  {"name": "recency", "weight": 0.2, "reads_usage": true, "terms": [{"axis": 25, "share": 2.23606797749979}, {"axis": 18, "share": 3.5355339059327378, "moment": 0.0, "after": 7.0}, {"axis": 19, "share": 3.5355339059327378, "moment": 7.0, "before": 0.0, "after": 30.0}, {"axis": 20, "share": 3.5355339059327378, "moment": 30.0, "before": 7.0}]},
  {"name": "importance", "weight": 0.15, "terms": [{"axis": 2, "share": 1.6666666666666667}]},
  {"name": "frequency", "weight": 0.1, "reads_usage": true, "terms": [{"axis": 21, "share": 4.08248290463863}]},
  {"name": "usefulness", "weight": 0.1, "terms": [{"axis": 1, "share": 2.041241452319315}]},
  {"name": "entity_overlap", "weight": 0.05, "uncovered": true, "terms": []}]}'::jsonb;

COMMENT ON FUNCTION score_tiered IS
    'The score by the profile tiered: 0.4 similarity + 0.2 recency + 0.15 importance + 0.1 frequency + 0.1 usefulness + 0.05 entity_overlap.';
COMMENT ON FUNCTION signals_tiered IS 'The value of each signal of the profile tiered.';
COMMENT ON FUNCTION profile_tiered IS
    'What recall has to know of the profile tiered: its signals, and what it reads.';

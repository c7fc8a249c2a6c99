-- For readers.
-- The search is exact and compares all pairs. 2,000 memories take about a second, 4,000 four
-- seconds.
CREATE OR REPLACE FUNCTION near_duplicates(
    agent text, threshold float8 DEFAULT 0.92, k integer DEFAULT 100, newest integer DEFAULT 2000)
    RETURNS TABLE (
        older_id uuid, newer_id uuid, older_content text, newer_content text, similarity float8)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_share('threshold', threshold);
    PERFORM require_count('k', k, 1, @MAX_CURATED@);
    PERFORM require_count('newest', newest, 2, @MAX_CURATED@);
    RETURN QUERY
    WITH numbered AS MATERIALIZED (
        SELECT n.id, n.embedding,
               row_number() OVER (ORDER BY n.created_at DESC NULLS LAST, n.id DESC) AS number
          FROM newest_memories(agent, newest) n
    ), pairs AS (
        SELECT CASE WHEN one.number > other.number THEN one.id ELSE other.id END AS older_id,
               CASE WHEN one.number > other.number THEN other.id ELSE one.id END AS newer_id,
               similarity(one.embedding, other.embedding, NULL) AS similarity
          FROM numbered one
          JOIN numbered other ON one.id < other.id
         WHERE similarity(one.embedding, other.embedding, NULL) > threshold
         ORDER BY similarity DESC, older_id LIMIT k
    )
    SELECT p.older_id, p.newer_id, older.content, newer.content, p.similarity FROM pairs p
      JOIN agent_memories older ON older.agent_id = agent AND older.id = p.older_id
      JOIN agent_memories newer ON newer.agent_id = agent AND newer.id = p.newer_id
     ORDER BY p.similarity DESC, p.older_id, p.newer_id;
END
$verb$;

COMMENT ON FUNCTION near_duplicates IS
    'Returns pairs of the newest active memories of an owner that are more than threshold similar, '
    'most similar first.';

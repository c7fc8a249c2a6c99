-- First, every row that passes is scored, and only keys go into the sort. Then k rows are read in
-- full. Counts of candidates are returned unless through_indexes is NULL.
CREATE OR REPLACE FUNCTION search_text(
    profile text, facts jsonb, given text[], has_words boolean, through_indexes boolean) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN recall_text(profile, facts, given, has_words, through_indexes,
                       $text$WITH q AS NOT MATERIALIZED (
    SELECT {q}
), {ranked}
SELECT m.agent_id, m.id, m.content, m.memory_type, m.created_at, r.score,
       similarity(m.embedding, q.query, NULL) AS similarity, {signals} AS signals,
       {turns}{counts}
  FROM q CROSS JOIN {found} r
 CROSS JOIN LATERAL (
      SELECT a.* FROM agent_memories a
       WHERE a.agent_id {owned} AND a.agent_id = r.agent_id AND a.id = r.id
      OFFSET 0) m
  {counters}
 {floor}
 ORDER BY {passages}r.score DESC, r.id$text$);

COMMENT ON FUNCTION search_text IS
    'The statement that recall runs: every memory scored, or the candidates of rank indexes.';

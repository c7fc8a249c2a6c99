-- First every row that passes is scored, carrying only its key into the sort; then k rows are read in
-- full. Through rank indexes the rows scored are the candidates, and all those of owners without one;
-- then `passed` is how many candidates of each index passed, at least, and `total` how many rows in all.
CREATE OR REPLACE FUNCTION search_text(
    profile text, facts jsonb, given text[], has_words boolean,
    through_indexes boolean DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $function$
DECLARE
    ranked text := $text$ranked AS (
    SELECT m.agent_id, m.id, {score} AS score, {share} AS keyword
      FROM q CROSS JOIN agent_memories m
      {usage}
      {words}
     WHERE m.agent_id {owned}
       AND {passes}
     ORDER BY score DESC, m.id
     LIMIT $1
)$text$;
    candidates text := $text$sources AS (
    SELECT s.* FROM q, jsonb_to_recordset(q.sources -> 'indexes') s(
        number integer, owner_id text, relation text, direction text,
        built_at timestamptz, used_since timestamptz)
), terms AS MATERIALIZED (
    SELECT s.owner_id, array_agg(t.term ORDER BY t.term) AS terms,
           array_agg(t.memories ORDER BY t.term) AS memories,
           array_agg(t.weight ORDER BY t.term) AS weights
      FROM q CROSS JOIN sources s
     CROSS JOIN LATERAL term_weights(s.owner_id, q.query_text, false) t
     WHERE q.query_text IS NOT NULL
     GROUP BY s.owner_id
), nominated AS (
    SELECT s.owner_id, c.memory_id AS id, min(s.number) FILTER (WHERE c.from_index) AS source
      FROM q CROSS JOIN sources s
      LEFT JOIN terms t ON t.owner_id = s.owner_id
     CROSS JOIN LATERAL rank_candidates(
         s.owner_id, s.relation, s.direction, (q.sources -> 'candidates')::integer,
         s.built_at, s.used_since, (q.sources -> 'reach')::integer,
         (q.sources -> 'keyword_weight')::float8, coalesce(t.terms, '{}'),
         coalesce(t.memories, '{}'), coalesce(t.weights, '{}')) c
     GROUP BY s.owner_id, c.memory_id
), every AS MATERIALIZED (
    SELECT m.agent_id, m.id, {score} AS score, {share} AS keyword, n.source
      FROM q CROSS JOIN nominated n
      JOIN agent_memories m ON m.agent_id = n.owner_id AND m.id = n.id
      {usage}
      LEFT JOIN terms t ON t.owner_id = n.owner_id
      {words of candidates}
     WHERE m.agent_id {owned}
       AND {passes}
    UNION ALL
    SELECT m.agent_id, m.id, {score}, {share}, NULL
      FROM q CROSS JOIN agent_memories m
      {usage}
      {words}
     WHERE m.agent_id = ANY (ARRAY(SELECT jsonb_array_elements_text(q.sources -> 'whole')))
       AND {passes}
), ranked AS (
    SELECT e.*, (SELECT min(coalesce(c.passed, 0)) FROM sources s
                   LEFT JOIN (SELECT e.source, count(*) AS passed FROM every e GROUP BY e.source) c
                     ON c.source = s.number) AS passed,
           count(*) OVER () AS total
      FROM every e
     ORDER BY score DESC, e.id
     LIMIT $1
)$text$;
BEGIN
    RETURN recall_text(profile, facts, given, has_words, format($text$WITH q AS NOT MATERIALIZED (
    SELECT {q}
), %s
SELECT m.agent_id, m.id, m.content, m.memory_type, m.created_at, r.score,
       similarity(m.embedding, q.query, NULL) AS similarity, {signals} AS signals%s
  FROM q CROSS JOIN ranked r
  JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id AND m.agent_id {owned}
  {usage}
 WHERE r.score >= coalesce(q.min_score, 0)%s
 ORDER BY r.score DESC, r.id$text$,
        CASE WHEN through_indexes THEN candidates ELSE ranked END,
        CASE through_indexes WHEN true THEN ', r.passed, r.total'
             WHEN false THEN ', NULL::bigint, NULL::bigint' END,
        CASE WHEN through_indexes THEN ' OR true' END));
END
$function$;

COMMENT ON FUNCTION search_text IS
    'The text that recall runs: every memory scored, or the candidates of rank indexes.';

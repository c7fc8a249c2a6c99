-- A row for each judged memory, or one with a NULL id. best: the highest relevance of all. above: the
-- lowest among the k most relevant that are ranked before it, NULL if there are fewer.
SELECT highest.best, wanted.id, wanted.relevance, crowd.above
  FROM (SELECT max(scored.relevance) AS best
          FROM scored
         WHERE true
           AND (scored.score >= :min_score::float8) --? min_score
       ) highest
  LEFT JOIN wanted
    ON true
   AND (wanted.score >= :min_score::float8) --? min_score
  LEFT JOIN LATERAL (
       SELECT scored.relevance AS above
         FROM scored
        WHERE (wanted.score, scored.id) < (scored.score, wanted.id)
        ORDER BY scored.relevance DESC
       OFFSET :k::integer - 1 LIMIT 1) crowd ON true

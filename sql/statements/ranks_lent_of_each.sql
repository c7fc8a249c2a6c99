-- The same with the scores that the best hits raise, as found_lent raises them.
SELECT queries.number, its.*
  FROM queries
 CROSS JOIN LATERAL (
       WITH own AS MATERIALIZED (SELECT :query_scores),
       hits AS (SELECT own.agent_id, own.id, own.score_0
                  FROM own
                 WHERE own.score_0 IS NOT NULL
                 ORDER BY own.score_0 DESC, own.id
                 LIMIT :lenders::integer),
       lent AS MATERIALIZED (
           SELECT hits.agent_id, near.id, max(hits.score_0) AS hit_score, max(near.bytes) AS bytes
             FROM hits
            CROSS JOIN LATERAL pgrecall.turns_beside(
                  hits.agent_id, hits.id, :expand_session::integer) near
            GROUP BY hits.agent_id, near.id),
       scored AS MATERIALIZED (
           SELECT own.id,
                  CASE WHEN own.score_0 IS NOT NULL
                       THEN pgrecall.raised_score(
                                own.score_0, :lend::float8, lent.hit_score, lent.bytes)
                       END AS score_0
             FROM own
             LEFT JOIN lent ON lent.agent_id = own.agent_id AND lent.id = own.id)
       SELECT wanted.id, counted.*
         FROM scored wanted
        CROSS JOIN LATERAL (SELECT :ranks FROM scored) counted
        WHERE wanted.id = ANY (ARRAY(SELECT judged.id FROM judged
                                      WHERE judged.number = queries.number))) its

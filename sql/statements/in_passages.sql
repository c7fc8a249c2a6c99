-- Turns of one session that belong together stand next to each other, in order, by their best hit.
SELECT hits.*
  FROM hits
WINDOW passage AS (PARTITION BY hits.agent_id, hits.session,
                                CASE WHEN hits.session IS NULL THEN hits.id END)
 ORDER BY max(hits.hit_score) OVER passage DESC,
          first_value(coalesce(hits.attached_to, hits.id)) OVER (
              passage ORDER BY hits.hit_score DESC, coalesce(hits.attached_to, hits.id)),
          hits.turn, hits.created_at, hits.id

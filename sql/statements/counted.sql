-- Counts one retrieval of each hit, in key order, so that concurrent touches cannot deadlock.
SELECT sum(pgrecall.touch(owner.agent_id, owner.ids, :accessed::boolean, :durable::boolean))
       AS counted
  FROM (SELECT hits.agent_id, array_agg(hits.id) AS ids
          FROM hits
         GROUP BY hits.agent_id
         ORDER BY hits.agent_id
        OFFSET 0) owner

-- The memories within some steps of the hits, and how many steps away each is.
WITH RECURSIVE reached AS (
    SELECT hit.agent_id, hit.id, 0 AS steps
      FROM unnest(:hit_owners::text[], :hit_ids::uuid[]) hit(agent_id, id)
     UNION
    SELECT reached.agent_id, linked.id, reached.steps + 1
      FROM reached
     CROSS JOIN LATERAL (
           (SELECT memory_links.target_id AS id FROM pgrecall.memory_links
             WHERE true
               AND (memory_links.agent_id = :owner_id::text) --? !teams
               AND (memory_links.agent_id = ANY (:all_owners::text[])) --? teams
               AND memory_links.agent_id = reached.agent_id
               AND memory_links.source_id = reached.id
            OFFSET 0)
           UNION ALL
           (SELECT memory_links.source_id FROM pgrecall.memory_links
             WHERE true
               AND (memory_links.agent_id = :owner_id::text) --? !teams
               AND (memory_links.agent_id = ANY (:all_owners::text[])) --? teams
               AND memory_links.agent_id = reached.agent_id
               AND memory_links.target_id = reached.id
            OFFSET 0)) linked
     WHERE reached.steps < :steps::integer
)
SELECT reached.agent_id, reached.id, min(reached.steps) AS steps
  FROM reached
 GROUP BY reached.agent_id, reached.id
HAVING min(reached.steps) > 0

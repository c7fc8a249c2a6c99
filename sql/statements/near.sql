-- The memories within some links of the hits, and how many links away each is.
WITH RECURSIVE reached AS (
    SELECT hit.agent_id, hit.id, 0 AS hops
      FROM unnest(:hit_owners::text[], :hit_ids::uuid[]) hit(agent_id, id)
     UNION
    SELECT reached.agent_id, linked.id, reached.hops + 1
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
     WHERE reached.hops < :hops::integer
)
SELECT reached.agent_id, reached.id, min(reached.hops) AS hops
  FROM reached
 GROUP BY reached.agent_id, reached.id
HAVING min(reached.hops) > 0

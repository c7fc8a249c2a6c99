-- What changed since the moment of recorded queries: the value before the first change.
SELECT changed.agent_id, changed.memory_id, jsonb_object_agg(changed.name, changed.value) AS its
  FROM (SELECT DISTINCT ON (memory_events.agent_id, memory_events.memory_id, old.name)
               memory_events.agent_id, memory_events.memory_id, old.name, old.value
          FROM pgrecall.memory_events
         CROSS JOIN LATERAL jsonb_each(memory_events.old_values) old(name, value)
         WHERE true
           AND (memory_events.agent_id = :owner_id::text) --? !teams
           AND (memory_events.agent_id = ANY (:whole_owners::text[])) --? teams
           AND memory_events.event_type <> 'initial'
           AND memory_events.occurred_at >= :moment
           AND old.name IN ('usefulness', 'importance', 'confidence', 'trust')
         ORDER BY memory_events.agent_id, memory_events.memory_id, old.name,
                  memory_events.occurred_at, memory_events.id) changed
 GROUP BY changed.agent_id, changed.memory_id

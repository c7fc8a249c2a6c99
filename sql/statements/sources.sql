-- The rank indexes of several owners.
SELECT source.number, source.agent_id, source.relation, source.direction, source.used_direction,
       source.written_until
  FROM unnest(:indexed_owners::text[], :relations::text[], :directions::text[],
              :used_directions::text[], :written_until::timestamptz[]) WITH ORDINALITY
       source(agent_id, relation, direction, used_direction, written_until, number)

-- The rank index of the one owner.
SELECT 1::bigint AS number, :owner_id::text AS agent_id, (:relations::text[])[1] AS relation,
       (:directions::text[])[1] AS direction, (:used_directions::text[])[1] AS used_direction,
       (:written_until::timestamptz[])[1] AS written_until

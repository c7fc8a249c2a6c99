-- The vector of each query, shifted as in shifted, for each owner and each share.
SELECT queries.number, owner.agent_id, shares.share,
       pgrecall.shifted(queries.query, means.mean, shares.share) AS query
  FROM queries
 CROSS JOIN unnest(:shift_shares::float8[]) shares(share)
 CROSS JOIN unnest(:all_owners::text[]) owner(agent_id)
  LEFT JOIN means ON means.agent_id = owner.agent_id

-- The vector of each query, shifted as in shifted, for each owner and each share.
SELECT queries.number, owner.agent_id, shares.share,
       pgrecall.shifted(queries.query, owner_vectors.mean, shares.share) AS query
  FROM queries
 CROSS JOIN unnest(:shift_shares::float8[]) shares(share)
 CROSS JOIN unnest(:all_owners::text[]) owner(agent_id)
  LEFT JOIN LATERAL (
       SELECT owner_vectors.mean FROM pgrecall.owner_vectors
        WHERE owner_vectors.agent_id = owner.agent_id
          AND owner_vectors.agent_id = ANY (:all_owners::text[])
          AND (coalesce(owner_vectors.latest <= :as_of::timestamptz, true)) --? as_of
       OFFSET 0) owner_vectors ON true

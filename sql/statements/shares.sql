-- The share of each query's terms that each memory has.
SELECT queries.number, shares.*
  FROM queries
 CROSS JOIN LATERAL pgrecall.keyword_shares(:all_owners::text[], queries.keywords,
       :all_owners::text[], :as_of::timestamptz) shares

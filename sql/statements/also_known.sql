-- See the SQL function known_as.
SELECT pgrecall.known_as((:owners::text[])[1], :query_entities::text[], (:owners::text[])[2:])
       AS entities,
       cardinality(:query_entities::text[]) AS names

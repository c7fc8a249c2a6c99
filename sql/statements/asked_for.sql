-- The query's terms, in their order.
SELECT one.term, one.place
  FROM pgrecall.query_terms(:keywords::text) WITH ORDINALITY one(term, place)

-- The query's terms, in their order.
SELECT one.term, one.place
  FROM pgrecall.query_terms(:query_text::text) WITH ORDINALITY one(term, place)

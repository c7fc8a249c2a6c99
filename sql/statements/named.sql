-- The entities in each text, the longest first, and how many names stand for them.
SELECT texts.number, named.entities, named.names
  FROM unnest(:texts::text[]) WITH ORDINALITY texts(said, number)
 CROSS JOIN LATERAL pgrecall.named_entities((:owners::text[])[1], texts.said,
       :subjects_named, (:owners::text[])[2:]) named
 WHERE named.names > 0

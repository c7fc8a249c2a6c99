-- Facts of the query's text: whether it has any term, that is a word that is no stop word.
SELECT counting.has_terms
     , CASE WHEN counting.has_terms THEN 2::float8 ELSE 1::float8 END AS comparable --? query
     , 1::float8 AS comparable --? !query
     , CASE WHEN counting.has_terms OR :keyword_weight::float8 >= 1::float8 THEN 1::float8
            ELSE 1::float8 - :keyword_weight::float8 END AS weights_in_use --? redistributes
  FROM (SELECT EXISTS (SELECT FROM pgrecall.query_terms(:query_text::text)) AS has_terms) counting

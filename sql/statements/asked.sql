-- Facts of the query's text: whether it has any term, that is a word that is no stop word, and
-- which entities it names. OFFSET 0: the planner would parse the text once for each mention.
SELECT true AS is_asked
     , counting.has_terms --? words
     , named.entities --? naming
     , named.names --? naming
     , CASE WHEN counting.has_terms THEN 2::float8 ELSE 1::float8 END AS comparable --? query words
     , 1::float8 AS comparable --? !query words
     , CASE WHEN counting.has_terms OR :keyword_weight::float8 >= 1::float8 THEN 1::float8
            ELSE 1::float8 - :keyword_weight::float8
            END AS weights_in_use --? redistributes by_words !naming
     , CASE WHEN named.names > 0 OR :entity_overlap_weight::float8 >= 1::float8 THEN 1::float8
            ELSE 1::float8 - :entity_overlap_weight::float8
            END AS weights_in_use --? redistributes !by_words naming
     , CASE WHEN counting.has_terms AND named.names > 0 THEN 1::float8
            WHEN counting.has_terms THEN 1::float8 - :entity_overlap_weight::float8
            WHEN named.names > 0 THEN 1::float8 - :keyword_weight::float8
            WHEN :keyword_weight::float8 + :entity_overlap_weight::float8 < 0.999999999::float8
            THEN 1::float8 - :keyword_weight::float8 - :entity_overlap_weight::float8
            ELSE 1::float8 END AS weights_in_use --? redistributes by_words naming
  FROM (SELECT 1) one_row
 CROSS JOIN (
       SELECT EXISTS (SELECT FROM pgrecall.query_terms(:keywords::text)) AS has_terms
       OFFSET 0) counting --? words
 CROSS JOIN LATERAL pgrecall.named_entities((:all_owners::text[])[1], :naming_text::text,
       :subjects_named, (:all_owners::text[])[2:]) named --? naming !given_names
 CROSS JOIN LATERAL (
       SELECT pgrecall.known_as((:all_owners::text[])[1], :query_entities::text[],
                  (:all_owners::text[])[2:]) AS entities,
              cardinality(:query_entities::text[]) AS names) named --? naming given_names

-- The queries, each given as a memory, whose type of embeddings is theirs; tokens: how many names
-- stand for its entities.
SELECT given.turn AS number, given.embedding AS query, given.content AS keywords
     , pgrecall.known_as((:all_owners::text[])[1], given.entities,
           (:all_owners::text[])[2:]) AS query_entities --? named
     , coalesce(given.tokens, cardinality(given.entities)) AS names --? named
     , given.valid_from AS period_from, given.valid_until AS period_to
     , EXISTS (SELECT FROM pgrecall.query_terms(given.content)) AS has_terms
  FROM jsonb_populate_recordset(NULL::pgrecall.agent_memories, :queries::jsonb) given

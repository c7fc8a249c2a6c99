-- The queries, each given as a memory, whose type of embeddings is theirs.
SELECT given.turn AS number, given.embedding AS query, given.content AS query_text,
       given.entities AS query_entities, given.valid_from AS period_from,
       given.valid_until AS period_to,
       EXISTS (SELECT FROM pgrecall.query_terms(given.content)) AS has_terms
  FROM jsonb_populate_recordset(NULL::pgrecall.agent_memories, :queries::jsonb) given

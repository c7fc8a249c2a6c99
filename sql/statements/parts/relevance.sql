-- The relevance of a memory, on one scale for every profile. Without a text, it is the similarity.
SELECT
       pgrecall.relevance(pgrecall.similarity(agent_memories.embedding, :query, NULL::float8),
           pgrecall.keyword(coalesce(words.share, 0::float8) * words.coverage,
               octet_length(agent_memories.content), 0.8::float8, 400::float8),
           (SELECT asked.comparable FROM asked)) --? words
       pgrecall.similarity(agent_memories.embedding, :query, 0::float8) --? !words

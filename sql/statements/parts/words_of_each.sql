-- The share of the query's terms that each memory has, which are unpacked once a memory.
FROM agent_memories
 CROSS JOIN LATERAL (
       SELECT least(coalesce(sum(terms.weight) FILTER (WHERE terms.term = ANY (its.terms))
                             / sum(terms.weight), 0::float8), 1::float8) AS share,
              sum(terms.weight) / sum(terms.idf) AS coverage
         FROM (SELECT tsvector_to_array(agent_memories.terms) AS terms OFFSET 0) its
        CROSS JOIN terms
        WHERE terms.agent_id = agent_memories.agent_id) words

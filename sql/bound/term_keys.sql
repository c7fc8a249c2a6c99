-- The high cost makes the planner use the index instead of computing this for each row.
CREATE FUNCTION term_keys(agent text, terms tsvector) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
    SELECT coalesce(array_agg(term_key(agent, term)), '{}')
      FROM unnest(tsvector_to_array(terms)) term;
END;

COMMENT ON FUNCTION term_keys IS 'The keys of all terms of a memory.';

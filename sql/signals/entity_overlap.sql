-- The sum is written out, because PostgreSQL does not inline a function with a subquery and would
-- call it for every row. The first test makes rows that share nothing cheap. The terms are in
-- groups of four: where the planner knows the query, groups beyond its end vanish from the plan.
CREATE OR REPLACE FUNCTION entity_overlap(
    entities text[], query text[], subject text DEFAULT NULL, names integer DEFAULT NULL)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN entities && query OR subject = ANY (query) THEN least((
      CASE WHEN subject = ANY (query) AND subject <> ALL (entities) THEN 1 ELSE 0 END
    + coalesce((query[1] = ANY (entities))::int, 0)
    + coalesce((query[2] = ANY (entities))::int, 0)
    + coalesce((query[3] = ANY (entities))::int, 0)
    + coalesce((query[4] = ANY (entities))::int, 0)
    + CASE WHEN query[5] IS NULL THEN 0 ELSE
      coalesce((query[5] = ANY (entities))::int, 0)
    + coalesce((query[6] = ANY (entities))::int, 0)
    + coalesce((query[7] = ANY (entities))::int, 0)
    + coalesce((query[8] = ANY (entities))::int, 0)
    + CASE WHEN query[9] IS NULL THEN 0 ELSE
      coalesce((query[9] = ANY (entities))::int, 0)
    + coalesce((query[10] = ANY (entities))::int, 0)
    + coalesce((query[11] = ANY (entities))::int, 0)
    + coalesce((query[12] = ANY (entities))::int, 0)
    + CASE WHEN query[13] IS NULL THEN 0 ELSE
      coalesce((query[13] = ANY (entities))::int, 0)
    + coalesce((query[14] = ANY (entities))::int, 0)
    + coalesce((query[15] = ANY (entities))::int, 0)
    + coalesce((query[16] = ANY (entities))::int, 0)
    + CASE WHEN query[17] IS NULL THEN 0 ELSE
      coalesce((query[17] = ANY (entities))::int, 0)
    + coalesce((query[18] = ANY (entities))::int, 0)
    + coalesce((query[19] = ANY (entities))::int, 0)
    + coalesce((query[20] = ANY (entities))::int, 0)
    + CASE WHEN query[21] IS NULL THEN 0 ELSE
      coalesce((query[21] = ANY (entities))::int, 0)
    + coalesce((query[22] = ANY (entities))::int, 0)
    + coalesce((query[23] = ANY (entities))::int, 0)
    + coalesce((query[24] = ANY (entities))::int, 0)
    + CASE WHEN query[25] IS NULL THEN 0 ELSE
      coalesce((query[25] = ANY (entities))::int, 0)
    + coalesce((query[26] = ANY (entities))::int, 0)
    + coalesce((query[27] = ANY (entities))::int, 0)
    + coalesce((query[28] = ANY (entities))::int, 0)
    + CASE WHEN query[29] IS NULL THEN 0 ELSE
      coalesce((query[29] = ANY (entities))::int, 0)
    + coalesce((query[30] = ANY (entities))::int, 0)
    + coalesce((query[31] = ANY (entities))::int, 0)
    + coalesce((query[32] = ANY (entities))::int, 0)
    END END END END END END END
    )::float8 / coalesce(names, cardinality(query))::float8, 1::float8)
    ELSE 0::float8 END;

COMMENT ON FUNCTION entity_overlap IS
    'Returns the share of the query''s entities that the memory has; 0 if the query has none. The '
    'query holds at most 32 entities, each once. subject: counts as one of the memory''s entities. '
    'names: how many names stand for the query''s entities, if some name several.';

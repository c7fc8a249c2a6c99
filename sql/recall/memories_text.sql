-- Joined in full, as in rows_to_rank: no statistics make PostgreSQL execute that by comparing all
-- rows with all. By the CASEs it hashes counters, of which it expects few, and keeps rows without a
-- memory until the joins are made. Citus cannot pass a full join on to a shard.
CREATE OR REPLACE FUNCTION memories_text(
    fully boolean, reads_usage boolean, has_words boolean, several boolean) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN fully THEN $text$(
          LATERAL (SELECT m.* FROM agent_memories m
                    WHERE m.agent_id {owned}
                      AND {own pass}) m$text$
    ELSE 'agent_memories m' END
    || CASE WHEN reads_usage AND fully THEN $text$
          FULL JOIN LATERAL (
            SELECT c.* FROM memory_usage c
             WHERE c.agent_id {owned}
               AND CASE WHEN c.memory_id IS NULL THEN 0 ELSE 1 END = 1) u
            ON u.memory_id = m.id$text$ || CASE WHEN several THEN ' AND u.agent_id = m.agent_id' ELSE '' END
    WHEN reads_usage THEN $text$
      LEFT JOIN memory_usage u
        ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id {owned}$text$
    ELSE '' END
    -- With one owner, a condition on it would make the planner expect so few rows that it compares
    -- each with each.
    || CASE WHEN has_words THEN CASE WHEN fully THEN E'\n          FULL' ELSE E'\n      LEFT' END
        || $text$ JOIN keyword_shares(q.owners, q.query_text, moment => {asked about}) words
            ON words.memory_id = m.id$text$
        || CASE WHEN several THEN ' AND words.agent_id = m.agent_id' ELSE '' END
       ELSE '' END
    || CASE WHEN fully THEN $text$)
     WHERE CASE WHEN m.id IS NULL THEN false ELSE {joined pass} END$text$
    ELSE $text$
     WHERE m.agent_id {owned}
       AND {passes}$text$ END;

COMMENT ON FUNCTION memories_text IS
    'The part of a statement that reads all memories of the owners that pass, their counters and their words.';

CREATE OR REPLACE FUNCTION counters_text() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN $text$LEFT JOIN LATERAL (
          SELECT c.* FROM memory_usage c
           WHERE c.agent_id {owned} AND c.agent_id = m.agent_id AND c.memory_id = m.id
          OFFSET 0) u ON true$text$;

COMMENT ON FUNCTION counters_text IS
    'The part of a statement that looks up the counters of each memory by their key.';

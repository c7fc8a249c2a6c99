-- Names are looked up by their first word, so what this costs does not grow with the memories. Most
-- words begin no name, and only few of the others are looked at once more. A name without any
-- letter has the first word ''. Settings force lookups: a plan made while the table was nearly
-- empty would read all of it for each word.
CREATE OR REPLACE FUNCTION named_entities(
    agent text, said text, subjects boolean DEFAULT false, others text[] DEFAULT '{}',
    OUT entities text[], OUT names integer)
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
#variable_conflict use_variable
DECLARE
    owners text[] := agent || others;
    words text[] := name_words(said);
    keys text[] := string_to_array(lower(array_to_string(words, ' ')), ' ');
    known text[];
    known_at bigint[];
    known_alone boolean[];
    strange text[];
    strange_at bigint[];
BEGIN
    names := 0;
    SELECT array_agg(w.word) FILTER (WHERE w.begins), array_agg(w.at) FILTER (WHERE w.begins),
           array_agg(w.alone) FILTER (WHERE w.begins),
           array_agg(w.word) FILTER (WHERE w.is_strange),
           array_agg(w.at) FILTER (WHERE w.is_strange)
      INTO known, known_at, known_alone, strange, strange_at
      FROM (SELECT w.*, NOT w.begins AND w.alone AND length(w.word) >= 6 AS is_strange
              FROM (
            SELECT u.word, min(u.place) AS at, bool_or(
                       words[u.place] ~ '^[[:upper:]]'
                       AND NOT coalesce(words[u.place + 1] ~ '^[[:upper:]]', false)) AS alone,
                   EXISTS (SELECT FROM entity_names n
                            WHERE n.agent_id = ANY (owners) AND n.word = u.word OFFSET 0) AS begins
              FROM unnest(array_append(keys, '')) WITH ORDINALITY u(word, place)
             GROUP BY u.word) w) w;
    IF known IS NULL AND strange IS NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(f.entity ORDER BY f.place), count(DISTINCT f.at)
      INTO entities, names
      FROM (SELECT c.entity, min(c.at) AS at,
                   row_number() OVER (ORDER BY max(length(c.name)) DESC, c.entity) AS place
              FROM (
                SELECT p.at, n.name, n.kind, n.entity
                  FROM unnest(known, known_at) p(word, at)
                  JOIN (SELECT DISTINCT k.word, array_agg(k.word) OVER (
                                   ORDER BY k.place ROWS BETWEEN CURRENT ROW
                                   AND @MAX_NAME_WORDS@ - 1 FOLLOWING) AS words
                          FROM unnest(keys) WITH ORDINALITY k(word, place)) said
                    ON said.word = p.word
                 CROSS JOIN LATERAL (
                       SELECT n.* FROM entity_names n
                        WHERE n.agent_id = ANY (owners) AND n.word = p.word
                          AND n.name = ANY (ARRAY(
                              SELECT array_to_string(said.words[:j], ' ')
                                FROM generate_series(1, cardinality(said.words)) j))
                       OFFSET 0) n
                 UNION ALL
                SELECT p.at, n.name, n.kind, n.entity
                  FROM unnest(known, known_at) p(word, at)
                 CROSS JOIN LATERAL (
                       SELECT n.* FROM entity_names n
                        WHERE n.agent_id = ANY (owners) AND n.word = ''
                       OFFSET 0) n
                 WHERE p.word = ''
                 UNION ALL
                -- A first word stands for a longer name where it is written like one, and alone.
                -- "Captain" alone does not say which one.
                SELECT p.at, n.name, n.kind, n.entity
                  FROM unnest(known, known_at, known_alone) p(word, at, alone)
                 CROSS JOIN LATERAL (
                       SELECT few.*, count(*) OVER () AS number
                         FROM (SELECT n.* FROM entity_names n
                                WHERE n.agent_id = ANY (owners) AND n.word = p.word
                                  AND n.name <> p.word
                                LIMIT @MAX_SHARED_FIRST@ + 1) few
                       OFFSET 0) n
                 WHERE p.alone AND n.number <= @MAX_SHARED_FIRST@
                 UNION ALL
                SELECT p.at, n.name, n.kind, n.entity
                  FROM unnest(strange, strange_at) p(word, at)
                 CROSS JOIN LATERAL (
                       SELECT b.* FROM entity_names b
                        WHERE b.agent_id = ANY (owners) AND length(b.word) >= 6
                          AND left(b.word, 3) = left(p.word, 3) COLLATE "C"
                        UNION
                       SELECT b.* FROM entity_names b
                        WHERE b.agent_id = ANY (owners) AND length(b.word) >= 6
                          AND right(b.word, 3) = right(p.word, 3) COLLATE "C"
                       OFFSET 0) n
                 WHERE is_one_edit(n.word, p.word)) c
             WHERE (subjects OR c.kind <> 'subject')
               -- A sign such as those of C++ belongs to the name.
               AND (c.kind = 'alias' OR c.entity !~ '[^[:alnum:][:space:].,''’()_-]'
                    OR strpos(lower(said), lower(c.entity)) > 0 AND said ~* concat('(?<!\w)',
                       regexp_replace(c.entity, '([^\w\s])', '\\\1', 'g'), '(?!\w)'))
             GROUP BY c.entity) f
     WHERE f.place <= @MAX_QUERY_ENTITIES@;
END
$function$;

COMMENT ON FUNCTION named_entities IS
    'Returns the entities of an owner''s memories that a text names, the longest first, and the '
    'number of names that stand for them: as whole words, in any case and with or without accents, '
    'by an alias, by the first word of a longer name, or with one letter wrong in a first word of '
    'six letters and more. subjects: also the subjects of memories. others: more owners. NULL: '
    'none.';

CREATE OR REPLACE FUNCTION known_as(agent text, given text[], others text[] DEFAULT '{}')
    RETURNS text[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
    RETURN ARRAY(
        SELECT g FROM unnest(given) g
         UNION
        SELECT n.entity
          FROM unnest(given) g
         CROSS JOIN LATERAL (
               SELECT n.entity FROM entity_names n
                WHERE n.agent_id = ANY (agent || others)
                  AND n.word = split_part(name_key(g), ' ', 1)
                  AND n.name = name_key(g) AND n.kind = 'alias'
               OFFSET 0) n);
END
$function$;

COMMENT ON FUNCTION known_as IS
    'Returns these names, and the entities that have one of them as an alias.';

CREATE OR REPLACE FUNCTION known_for(agent text, given text[], others text[] DEFAULT '{}')
    RETURNS text[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
    RETURN ARRAY(
        SELECT coalesce(named.entity, g)
          FROM unnest(given) g
          LEFT JOIN LATERAL (
               SELECT n.entity FROM entity_names n
                WHERE n.agent_id = ANY (agent || others)
                  AND n.word = split_part(name_key(g), ' ', 1)
                  AND n.name = name_key(g) AND n.kind = 'alias'
                  AND NOT EXISTS (SELECT FROM entity_names o
                                   WHERE o.agent_id = ANY (agent || others) AND o.kind = 'entity'
                                     AND o.entity = g)
                ORDER BY n.entity LIMIT 1) named ON true);
END
$function$;

COMMENT ON FUNCTION known_for IS
    'Returns these names, where those that are no entity of an owner''s memories but an alias of '
    'one are replaced by it.';

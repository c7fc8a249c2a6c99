-- One text for every profile; the score is a call that PostgreSQL inlines. Each value appears once,
-- as a column of q, which the planner pulls up: it sees the values and drops conditions that
-- exclude nothing.
CREATE OR REPLACE FUNCTION recall_text(
    profile text, facts jsonb, given text[], has_words boolean, through_indexes boolean, template text)
    RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    named text[] := regexp_split_to_array($$most, moment, owners, weighed, sources, compared, comparable,
        @passed@$$, ',\s+');
    reads text := replace(facts ->> 'reads', 'coalesce(words.share, 0)', '{share}');
    found text := template;
    along boolean := 'expand_session' = ANY (given);
    lends boolean := 'lend' = ANY (given);
    several boolean := 'teams' = ANY (given);
    divided boolean := several AND is_distributed();
    reads_usage boolean := reads LIKE '%u.%' OR 'min_trust' = ANY (given);
    fully boolean := (reads_usage OR has_words) AND NOT is_distributed();
    asked record;
    put_in text[];
    relevance text := (SELECT split_part(c.condition, ' >= ', 1) FROM recall_conditions() c
                        WHERE c.name = 'min_relevance');
BEGIN
    -- Turns that come along need no min_relevance of their own.
    SELECT string_agg(format('(%s)', a.condition), E'\n       AND ') AS passes,
           string_agg(format('(%s)', a.condition), E'\n       AND ')
               FILTER (WHERE NOT (along AND a.name = 'min_relevance')) AS turns_pass,
           string_agg(format('(%s)', a.condition), E'\n       AND ')
               FILTER (WHERE a.name NOT IN ('min_trust', 'min_relevance')) AS own_pass,
           string_agg(format('(%s)', a.condition), E'\n       AND ')
               FILTER (WHERE a.name IN ('min_trust', 'min_relevance')) AS joined_pass,
           string_agg(format('%L, coalesce(%s, false)', a.name, a.condition), ', ') AS meets
      INTO asked
      FROM unnest(given) g(name) JOIN recall_conditions() a USING (name);
    FOREACH put_in SLICE 1 IN ARRAY ARRAY[
        ['{ranked}', CASE WHEN divided THEN ranked_apart_text(
                              cardinality(array_positions(given, 'teams')) + 1, has_words, reads_usage, asked.passes)
                          ELSE ranked_text(through_indexes) END
                     || CASE WHEN along OR lends THEN turns_text(through_indexes, lends) ELSE '{gathered}' END],
        ['{whole owners}', CASE WHEN several THEN whole_owners_text(
            memories_text(fully, reads_usage, has_words, several)) ELSE '' END],
        ['{words}', CASE WHEN has_words THEN
      'LEFT JOIN keyword_shares(q.owners, q.query_text, moment => {asked about}) words
        ON words.memory_id = m.id'
          || CASE WHEN several THEN ' AND words.agent_id = m.agent_id' ELSE '' END
          ELSE '' END],
        ['{memories}', memories_text(fully, reads_usage, has_words, several)],
        ['{hits}', CASE WHEN along OR lends THEN hits_text(lends) ELSE '' END],
        ['{nearest}', CASE WHEN along OR lends THEN 'nearest'
                           ELSE '(SELECT NULL AS agent_id, NULL::uuid AS id, NULL::uuid AS hit, '
                                'NULL::float8 AS hit_score WHERE false)' END],
        ['{raised}', CASE WHEN lends THEN 'raised' ELSE 'every' END],
        ['{best}', CASE WHEN along THEN 'best' ELSE 'ranked' END],
        ['{turns beside the best}', CASE WHEN along OR lends THEN beside_text() ELSE '' END],
        ['{most}', CASE WHEN lends THEN 'greatest($1, 20)' ELSE '$1' END],
        ['{found}', CASE WHEN along OR lends THEN 'found' ELSE 'ranked' END],
        ['{turns}', CASE WHEN along THEN 'r.beside, 0::float8 AS lent, NULL::uuid AS lender'
                         WHEN lends THEN 'NULL::uuid AS beside, r.lent, r.lender'
                         ELSE 'NULL::uuid AS beside, 0::float8 AS lent, NULL::uuid AS lender' END],
        ['{beside}', CASE WHEN along THEN 'r.beside' ELSE 'NULL::uuid' END],
        ['{along}', CASE WHEN along
                         THEN 'SELECT h.place AS hit, t.place AS turn, b.distance FROM beside b
                JOIN pool h ON h.agent_id = b.agent_id AND h.id = b.hit
                JOIN pool t ON t.agent_id = b.agent_id AND t.id = b.id'
                         ELSE 'SELECT 0 AS hit, 0 AS turn, 0 AS distance WHERE false' END],
        ['{passages}', CASE WHEN along THEN passages_text() ELSE '' END],
        ['{score}', format('score_%s(%s, q.weighed)', profile, reads)],
        ['{signals}', format('signals_%s(%s)', profile, replace(reads, '{share}', 'r.keyword'))],
        ['{passes}', asked.passes],
        ['{own pass}', coalesce(asked.own_pass, 'true')],
        ['{joined pass}', coalesce(asked.joined_pass, 'true')],
        ['{turns pass}', coalesce(asked.turns_pass, 'true')],
        ['{relevance}', CASE WHEN 'relevance' = ANY (given)
            THEN replace(replace(relevance, '{share}', 'r.keyword'), '{coverage}', 'r.coverage')
            ELSE 'NULL::float8' END],
        ['{covered}', CASE WHEN 'relevance' = ANY (given) THEN ', e.coverage' ELSE '' END],
        ['{carried}', CASE WHEN 'relevance' = ANY (given) THEN ', {coverage} AS coverage' ELSE '' END],
        ['{meets}', asked.meets],
        ['{counts}', CASE through_indexes WHEN true THEN ', r.passed, r.total'
                                          WHEN false THEN ', NULL::bigint, NULL::bigint'
                                          ELSE '' END],
        ['{floor}', CASE WHEN through_indexes OR along THEN ''
                         ELSE 'WHERE r.score >= coalesce(q.min_score, 0)' END],
        ['{counters}', CASE WHEN reads_usage THEN counters_text() ELSE '' END],
        ['{words of candidates}', CASE WHEN has_words THEN
      'CROSS JOIN LATERAL (
          SELECT least(coalesce(sum(a.weight) FILTER (WHERE a.term = ANY (its.terms))
                                / sum(a.weight), 0), 1) AS share, sum(a.weight) / sum(a.idf) AS coverage
            FROM (SELECT tsvector_to_array(m.terms) AS terms OFFSET 0) its,
                 unnest(t.terms, t.weights, t.idfs) a(term, weight, idf)) words' ELSE '' END],
        ['{asked about}', CASE WHEN 'as_of' = ANY (given) THEN 'q.moment' ELSE 'NULL' END],
        ['{owned}', CASE WHEN several THEN '= ANY (q.owners)' ELSE '= q.owners[1]' END],
        ['{share}', CASE WHEN has_words THEN 'coalesce(words.share, 0)' ELSE '0::float8' END],
        ['{coverage}', CASE WHEN has_words THEN 'words.coverage' ELSE '0::float8' END]
    ] LOOP
        found := replace(found, put_in[1], put_in[2]);
    END LOOP;
    IF NOT divided THEN
        found := replace(found, '{gathered}', '');
    ELSE
        -- Citus reads the rows of owners on other nodes first, and then runs the rest in one place:
        -- those of the best and the turns beside them, or all where the best are not known.
        found := CASE WHEN strpos(template, '{ranked}') > 0
            THEN replace(found, '{gathered}', gathered_text(found, 'SELECT id FROM ranked'
                     || CASE WHEN along OR lends THEN ' UNION SELECT id FROM beside' ELSE '' END))
            ELSE replace(found, 'WITH q AS', format('WITH %s, q AS', substr(gathered_text(found), 3))) END;
    END IF;
    IF 'as_of' = ANY (given) THEN  -- later retrievals are not seen
        found := replace(found, 'u.last_accessed_at',
                         'CASE WHEN u.last_accessed_at <= q.moment THEN u.last_accessed_at END');
    END IF;
    RETURN replace(found, '{q}', (
        SELECT string_agg(format('$%s AS %I', v.place, v.name), ', ' ORDER BY v.place)
          FROM unnest(named) WITH ORDINALITY v(name, place)
         WHERE strpos(found, 'q.' || v.name) > 0));
END
$function$;

COMMENT ON FUNCTION recall_text IS
    'A statement made from a template, in which {score}, {passes} and so on are replaced by the score, the conditions and the joins that they need.';

-- Through rank indexes, candidates are scored, and all memories of owners without an index.
-- `passed` is then the least number of candidates of an index that passed, and `total` the number
-- of all rows that passed.
CREATE OR REPLACE FUNCTION ranked_text(through_indexes boolean) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN through_indexes THEN $text$sources AS (
    SELECT s.* FROM q, jsonb_to_recordset(q.sources -> 'indexes') s(
        number integer, owner_id text, relation text, direction text,
        used_direction text, written_until timestamptz)
), terms AS MATERIALIZED (
    SELECT s.owner_id, array_agg(t.term ORDER BY t.term) AS terms,
           array_agg(t.memories ORDER BY t.term) AS memories,
           array_agg(t.weight ORDER BY t.term) AS weights,
           array_agg(t.idf ORDER BY t.term) AS idfs
      FROM q CROSS JOIN sources s
     CROSS JOIN LATERAL term_weights(s.owner_id, q.query_text, false, q.owners, {asked about}) t
     WHERE q.query_text IS NOT NULL
     GROUP BY s.owner_id
), nominated AS (
    SELECT s.owner_id, c.memory_id AS id, min(s.number) FILTER (WHERE c.from_index) AS source
      FROM q CROSS JOIN sources s
      LEFT JOIN terms t ON t.owner_id = s.owner_id AND q.sources -> 'words' <> 'null'
     CROSS JOIN LATERAL rank_candidates(
         s.owner_id, s.relation, s.direction, (q.sources -> 'candidates')::integer,
         s.written_until, s.used_direction, (q.sources -> 'reach')::integer,
         (q.sources -> 'keyword_weight')::float8, coalesce(t.terms, '{}'),
         coalesce(t.memories, '{}'), coalesce(t.weights, '{}'),
         (q.sources -> 'words' -> 'b')::float8, (q.sources -> 'words' -> 'pivot')::float8) c
     GROUP BY s.owner_id, c.memory_id
), every AS MATERIALIZED (
    SELECT m.agent_id, m.id, {score} AS score, {share} AS keyword{carried}, n.source
      FROM q CROSS JOIN nominated n
     CROSS JOIN LATERAL (
          SELECT a.* FROM agent_memories a
           WHERE a.agent_id {owned} AND a.agent_id = n.owner_id AND a.id = n.id
          OFFSET 0) m
      {counters}
      LEFT JOIN terms t ON t.owner_id = n.owner_id
      {words of candidates}
     WHERE {passes}{whole owners}
), {best} AS (
    SELECT e.*, (SELECT min(coalesce(c.passed, 0)) FROM sources s
                   LEFT JOIN (SELECT e.source, count(*) AS passed FROM every e GROUP BY e.source) c
                     ON c.source = s.number) AS passed,
           count(*) OVER () AS total
      FROM every e
     ORDER BY score DESC, e.id
     LIMIT {most}
)$text$ ELSE $text${best} AS (
    SELECT m.agent_id, m.id, {score} AS score, {share} AS keyword{carried}
      FROM q CROSS JOIN {memories}
     ORDER BY score DESC, m.id
     LIMIT {most}
)$text$ END;

COMMENT ON FUNCTION ranked_text IS
    'The part of a statement that ranks: every memory scored, or the candidates of rank indexes.';

CREATE OR REPLACE FUNCTION ranked_apart_text(owners integer, has_words boolean, reads_usage boolean, passes text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT string_agg(
               replace(replace(replace(replace(replace(replace(
                   ranked_text(NULL),
                   '{best} AS (', format('ranked_%s AS MATERIALIZED (', n)),
                   '{memories}', memories_text(false, reads_usage, has_words, false)),
                   'keyword_shares(q.owners, q.query_text, moment =>',
                   'keyword_shares(ARRAY[($3)[{n}]], q.query_text, q.owners,'),
                   '{passes}', replace(passes, ' AND memory_labels.agent_id = ANY (q.owners)', '')),
                   '{owned}', '= ($3)[{n}]'), '{n}', n::text), ', ' ORDER BY n)
           || ', {best} AS (
    SELECT r.* FROM ('
           || string_agg(format('SELECT * FROM ranked_%s', n), ' UNION ALL ' ORDER BY n)
           || ') r
     ORDER BY r.score DESC, r.id
     LIMIT {most}
)'
      FROM generate_series(1, owners) n;
END;

COMMENT ON FUNCTION ranked_apart_text IS
    'ranked_text where owners may be on different nodes of Citus: each is ranked on its own, on its node.';

CREATE OR REPLACE FUNCTION gathered_text(statement text, ids text DEFAULT NULL) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT string_agg(
                format(', %1$s AS MATERIALIZED (SELECT * FROM %1$s WHERE agent_id = ANY ($3)', t.name)
                || coalesce(' AND ' || t.id || ' = ANY (ARRAY(' || ids || '))', '') || ')', '')
              FROM (VALUES ('agent_memories', 'id'), ('memory_usage', 'memory_id'),
                           ('memory_labels', 'memory_id')) t(name, id)
             WHERE strpos(statement, t.name) > 0);

COMMENT ON FUNCTION gathered_text IS
    'The part of a statement that reads the rows of several owners to one place: all, or those of these ids.';

CREATE OR REPLACE FUNCTION whole_owners_text(memories text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN $text$
    UNION ALL
    SELECT m.agent_id, m.id, {score}, {share}{carried}, NULL
      FROM q CROSS JOIN $text$ || replace(memories, '{owned}',
        '= ANY (ARRAY(SELECT jsonb_array_elements_text(q.sources -> ''whole'')))');

COMMENT ON FUNCTION whole_owners_text IS
    'The part of a statement that ranks all memories of owners without a rank index.';

-- Follows `ranked`, or `best` where turns come along: those of the k best that are below min_score
-- are no hits, and may come along like other turns. At least the 20 best lend, even where k is
-- less. Words weigh as they do for the ranked memories.
CREATE OR REPLACE FUNCTION turns_text(through_indexes boolean, lends boolean) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN lends THEN '' ELSE $text$, ranked AS (
    SELECT b.* FROM q CROSS JOIN best b WHERE b.score >= coalesce(q.min_score, 0)
)$text$ END
    || replace($text${turns beside the best}{gathered}, terms_of_turns AS MATERIALIZED (
    SELECT o.owner_id, array_agg(t.term ORDER BY t.term) AS terms,
           array_agg(t.weight ORDER BY t.term) AS weights,
           array_agg(t.idf ORDER BY t.term) AS idfs
      FROM q CROSS JOIN unnest(q.owners) o(owner_id)
     CROSS JOIN LATERAL term_weights(
           o.owner_id, q.query_text, {exact}, q.owners, {asked about}) t
     WHERE q.query_text IS NOT NULL
     GROUP BY o.owner_id
), others AS (
    SELECT m.agent_id, m.id, {score} AS score, {share} AS keyword{carried}, n.hit, n.hit_score
      FROM q CROSS JOIN nearest n
     CROSS JOIN LATERAL (
          SELECT a.* FROM agent_memories a
           WHERE a.agent_id {owned} AND a.agent_id = n.agent_id AND a.id = n.id
          OFFSET 0) m
      {counters}
      LEFT JOIN terms_of_turns t ON t.owner_id = n.agent_id
      {words of candidates}
     WHERE NOT EXISTS (SELECT FROM ranked r WHERE r.agent_id = n.agent_id AND r.id = n.id)
       AND {turns pass}
)$text$, '{exact}', CASE WHEN through_indexes THEN 'false' ELSE 'true' END)
    || CASE WHEN lends THEN $text$, found AS (
    SELECT e.agent_id, e.id, f.score, e.keyword{covered}, f.score - e.score AS lent, n.hit AS lender$text$
    ELSE $text$, found AS (
    SELECT e.agent_id, e.id, e.score, e.keyword{covered}, e.hit AS beside, e.hit_score$text$ END
    || CASE WHEN through_indexes THEN ', (SELECT max(r.passed) FROM ranked r) AS passed, '
                                      '(SELECT max(r.total) FROM ranked r) AS total'
       ELSE '' END
    || $text$
      FROM q CROSS JOIN (SELECT e.agent_id, e.id, e.score, e.keyword{covered}, NULL::uuid AS hit,
                                e.score AS hit_score
                           FROM ranked e
                          UNION ALL
                         SELECT o.* FROM others o) e$text$
    || CASE WHEN lends THEN $text$
      LEFT JOIN nearest n ON n.agent_id = e.agent_id AND n.id = e.id
     CROSS JOIN LATERAL raised_score(e.score, q.lend, n.hit_score) f(score)
     ORDER BY f.score DESC, e.id
     LIMIT $1$text$ ELSE '' END || E'\n)';

COMMENT ON FUNCTION turns_text IS
    'The part of a statement that scores the turns beside the best, and ranks them with what the best lend.';

CREATE OR REPLACE FUNCTION beside_text() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN $text$, beside AS MATERIALIZED (
    SELECT r.agent_id, b.id, r.id AS hit, r.score AS hit_score, b.distance
      FROM q CROSS JOIN ranked r
     CROSS JOIN LATERAL turns_beside(r.agent_id, r.id, q.expand_session) b
), nearest AS (
    SELECT DISTINCT ON (b.agent_id, b.id) b.agent_id, b.id, b.hit, b.hit_score
      FROM beside b
     ORDER BY b.agent_id, b.id, b.hit_score DESC, b.hit
)$text$;

COMMENT ON FUNCTION beside_text IS
    'The part of a statement that finds the turns beside the best: each pair, and each turn once with its best hit.';

-- For explain, which knows the score of every memory.
CREATE OR REPLACE FUNCTION hits_text(lends boolean) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN $text$, ranked AS MATERIALIZED (
    SELECT e.* FROM q CROSS JOIN every e$text$
    || CASE WHEN lends THEN '' ELSE ' WHERE e.score >= coalesce(q.min_score, 0)' END
    || $text$
     ORDER BY e.score DESC, e.id
     LIMIT {most}
){turns beside the best}$text$
    || CASE WHEN lends THEN $text$, raised AS (
    SELECT e.agent_id, e.id, f.score, e.keyword, e.coverage
      FROM q CROSS JOIN every e
      LEFT JOIN nearest n ON n.agent_id = e.agent_id AND n.id = e.id
     CROSS JOIN LATERAL raised_score(e.score, q.lend, n.hit_score) f(score)
)$text$ ELSE '' END;

COMMENT ON FUNCTION hits_text IS
    'The part of a statement that finds the turns beside the best of all, and raises scores by what these lend.';

CREATE OR REPLACE FUNCTION passages_text() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN replace($text$max(r.hit_score) OVER ({passage}) DESC,
    first_value(coalesce(r.beside, r.id)) OVER (
        {passage} ORDER BY r.hit_score DESC, coalesce(r.beside, r.id)),
    m.turn, m.created_at, r.id, $text$, '{passage}',
    'PARTITION BY r.agent_id, m.session, CASE WHEN m.session IS NULL THEN r.id END');

COMMENT ON FUNCTION passages_text IS
    'The order of passages, by the best hit of each, and of the turns in them.';

CREATE OR REPLACE FUNCTION raised_score(score float8, share float8, hit_score float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN greatest(score, least(score + share * coalesce(hit_score, 0), 1));

COMMENT ON FUNCTION raised_score IS
    'The score of a turn, raised by a share of the score of the hit beside it; NULL: there is no hit.';

-- Conditions on a memory m and its usage u, for the arguments q.
CREATE OR REPLACE FUNCTION recall_conditions() RETURNS TABLE (name text, condition text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 30
BEGIN ATOMIC
    VALUES
        @conditions@;
END;

COMMENT ON FUNCTION recall_conditions IS
    'The conditions that a memory must meet to be ranked, by name.';

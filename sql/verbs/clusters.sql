-- For readers.
-- Greedy: memories become centres in the order of how many others are similar to them, then of how
-- similar these are. A memory is in one cluster at most. A member is similar to the centre, not
-- only to another member, so that a chain of small steps does not join unlike memories. The pairs,
-- of which there may be millions, are not joined again: the planner cannot estimate their number.
CREATE OR REPLACE FUNCTION clusters(
    agent text, min_similarity float8 DEFAULT 0.80, min_size integer DEFAULT 3,
    more_than integer DEFAULT 20, newest integer DEFAULT 2000)
    RETURNS TABLE (cluster integer, place integer, memory_id uuid, similarity float8)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_share('min_similarity', min_similarity);
    PERFORM require_count('min_size', min_size, 2, @MAX_CURATED@);
    PERFORM require_count('more_than', more_than, 0, @MAX_CURATED@);
    PERFORM require_count('newest', newest, 2, @MAX_CURATED@);
    IF (SELECT count(*) FROM agent_memories m
         WHERE m.agent_id = agent AND m.status = 'active'
           AND is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now())
       ) <= more_than THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH numbered AS MATERIALIZED (
        SELECT n.id, n.embedding, row_number() OVER (ORDER BY n.id) AS number
          FROM newest_memories(agent, newest) n
    ), pairs AS (
        SELECT one.number AS a, other.number AS b,
               similarity(one.embedding, other.embedding, NULL) AS similarity
          FROM numbered one
          JOIN numbered other ON one.number < other.number
         WHERE similarity(one.embedding, other.embedding, NULL) >= min_similarity
    ), counted AS (
        SELECT both_ways.centre, both_ways.near, both_ways.similarity,
               count(*) OVER (PARTITION BY both_ways.centre) AS count,
               sum(both_ways.similarity) OVER (PARTITION BY both_ways.centre) AS closeness
          FROM (SELECT p.a AS centre, p.b AS near, p.similarity FROM pairs p
                 UNION ALL
                SELECT p.b, p.a, p.similarity FROM pairs p) both_ways
    ), centres AS (
        SELECT DISTINCT c.centre, c.count, c.closeness FROM counted c
    ), found AS (
        SELECT g.cluster, g.place, n.id, n.embedding
          FROM greedy_clusters(
                   (SELECT array_agg(c.centre::integer
                                     ORDER BY c.count DESC, c.closeness DESC, c.centre)
                      FROM centres c),
                   (SELECT array_agg(c.count::integer
                                     ORDER BY c.count DESC, c.closeness DESC, c.centre)
                      FROM centres c),
                   (SELECT array_agg(c.near::integer
                                     ORDER BY c.count DESC, c.closeness DESC, c.centre,
                                              c.similarity DESC, c.near)
                      FROM counted c),
                   min_size) g
          JOIN numbered n ON n.number = g.member
    )
    SELECT f.cluster, f.place, f.id,
           CASE WHEN f.place = 1 THEN 1::float8
                ELSE similarity(f.embedding, central.embedding, NULL) END
      FROM found f
      JOIN found central ON central.cluster = f.cluster AND central.place = 1
     ORDER BY f.cluster, f.place;
END
$verb$;

COMMENT ON FUNCTION clusters IS
    'Returns groups of the newest active memories of an owner. The most central memory of a group '
    'comes first, and each other one is at least min_similarity similar to it. Returns none unless '
    'the owner has more than more_than memories.';

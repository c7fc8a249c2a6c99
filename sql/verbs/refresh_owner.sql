-- What is known of an owner's memories as a whole: their mean, and their names. Nobody waits for
-- another: who finds the lock taken leaves it to the other, or to the next writer.
CREATE OR REPLACE FUNCTION note_written(agent text, written agent_memories[]) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    known record;
BEGIN
    IF cardinality(written) = 0 THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM unnest(written) m WHERE m.entities <> '{}' OR m.subject IS NOT NULL) THEN
        PERFORM store_names(
            agent, ARRAY(SELECT DISTINCT e FROM unnest(written) m, unnest(m.entities) e),
            ARRAY(SELECT DISTINCT m.subject FROM unnest(written) m));
    END IF;
    SELECT * INTO known FROM owner_vectors v WHERE v.agent_id = agent;
    IF known.agent_id IS NULL THEN
        PERFORM refresh_owner(agent);
    ELSIF is_mean_due(agent, known.memories, known.computed_at, known.mean IS NULL,
                      cardinality(written)) THEN
        IF NOT add_to_mean(agent) THEN
            PERFORM compute_mean(agent);
        END IF;
    END IF;
END
$function$;

COMMENT ON FUNCTION note_written IS
    'Stores the names of memories that were written, and computes the mean of the owner''s '
    'embeddings again if a tenth is new. Every verb that writes memories calls it.';

-- An owner with many is looked at now and then: counting a tenth at each call would grow with it.
-- Without sorting, the order forces the index in the order of writing.
CREATE OR REPLACE FUNCTION is_mean_due(
    agent text, memories bigint, computed_at timestamptz, is_first boolean, written integer)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT SET enable_seqscan = off
    SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
    tenth bigint := greatest(CASE WHEN is_first THEN @LEAST_FOR_MEAN@ - memories
                                  ELSE memories / 10 END, 1);
BEGIN
    RETURN (memories <= 640 OR random() * memories < 640 * written)
       AND EXISTS (SELECT FROM agent_memories m
                    WHERE m.agent_id = agent AND m.inserted_at > is_mean_due.computed_at
                    ORDER BY m.inserted_at OFFSET tenth - 1);
END
$function$;

COMMENT ON FUNCTION is_mean_due IS
    'Returns true if a tenth of an owner''s memories was written since the mean was computed, or '
    'as many as the first one takes.';

CREATE OR REPLACE FUNCTION store_names(agent text, entities text[], subjects text[]) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
    INSERT INTO entity_names (agent_id, word, name, kind, entity)
    SELECT agent, split_part(its.name, ' ', 1),
           coalesce(nullif(its.name, ''), lower(said.entity)), said.kind, said.entity
      FROM (SELECT 'entity' AS kind, e AS entity FROM unnest(entities) e
             UNION ALL
            SELECT 'subject', s FROM unnest(subjects) s) said
     CROSS JOIN LATERAL (SELECT name_key(said.entity) AS name OFFSET 0) its
     WHERE length(said.entity) BETWEEN 1 AND @MAX_NAME_LENGTH@
       AND NOT EXISTS (SELECT FROM entity_names n
                        WHERE n.agent_id = agent AND n.entity = said.entity AND n.kind = said.kind
                       OFFSET 0)
     ORDER BY 2, 3, 4, 5
        ON CONFLICT DO NOTHING;
END
$function$;

COMMENT ON FUNCTION store_names IS
    'Stores the names of entities and subjects of memories, as far as they are new.';

CREATE OR REPLACE FUNCTION add_to_mean(agent text) RETURNS boolean
    LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off
    SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $function$
#variable_conflict use_variable
DECLARE
    known record;
    moment timestamptz := clock_timestamp();
    added bigint;
    new real[];
    latest timestamptz;
BEGIN
    IF NOT pg_try_advisory_xact_lock(owner_lock(agent)) THEN
        RETURN true;
    END IF;
    SELECT * INTO known FROM owner_vectors v WHERE v.agent_id = agent;
    SELECT count(*), @extschema:vector@.avg(@extschema:vector@.l2_normalize(m.embedding))::real[],
           max(m.created_at)
      INTO added, new, latest
      FROM (SELECT m.embedding, m.created_at, m.status, m.invalidated_at FROM agent_memories m
             WHERE m.agent_id = agent AND m.inserted_at > known.computed_at
             ORDER BY m.inserted_at) m
     WHERE m.status = 'active' AND m.invalidated_at IS NULL AND m.embedding IS NOT NULL;
    -- A sum of many roundings, and what was deleted since, is computed anew where it has doubled.
    IF known.mean IS NULL OR cardinality(new) <> cardinality(known.mean)
       OR floor(ln((known.memories + added)::float8) / ln(2::float8))
          > floor(ln(known.memories::float8) / ln(2::float8)) THEN
        RETURN false;
    END IF;
    UPDATE owner_vectors v
       SET memories = known.memories + added, computed_at = moment,
           latest = greatest(known.latest, latest),
           mean = CASE WHEN added = 0 THEN known.mean ELSE ARRAY(
               SELECT (o.one * known.memories + n.one * added) / (known.memories + added)
                 FROM unnest(known.mean) WITH ORDINALITY o(one, place)
                 JOIN unnest(new) WITH ORDINALITY n(one, place) USING (place)
                ORDER BY place) END
     WHERE v.agent_id = agent;
    RETURN true;
END
$function$;

COMMENT ON FUNCTION add_to_mean IS
    'Adds the embeddings of memories that came since then to the mean of an owner; false: it has '
    'to be computed anew. Where another writer has the lock, it is left to that one.';

CREATE OR REPLACE FUNCTION compute_mean(agent text) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off AS $function$
DECLARE
    moment timestamptz := clock_timestamp();
    many bigint;
    mean real[];
    latest timestamptz;
BEGIN
    SELECT count(*), @extschema:vector@.avg(@extschema:vector@.l2_normalize(m.embedding))::real[],
           max(m.created_at)
      INTO many, mean, latest
      FROM agent_memories m
     WHERE m.agent_id = agent
       AND m.status = 'active' AND m.invalidated_at IS NULL AND m.embedding IS NOT NULL;
    INSERT INTO owner_vectors AS v (agent_id, mean, memories, latest, computed_at)
    VALUES (agent, CASE WHEN many >= @LEAST_FOR_MEAN@ THEN mean END, many, latest, moment)
        ON CONFLICT (agent_id) DO UPDATE
       SET mean = excluded.mean, memories = excluded.memories, latest = excluded.latest,
           computed_at = excluded.computed_at;
END
$function$;

COMMENT ON FUNCTION compute_mean IS
    'Computes the mean of the embeddings of an owner''s active memories, each of length 1; none of '
    'fewer than @LEAST_FOR_MEAN@.';

CREATE OR REPLACE FUNCTION owner_lock(agent text) RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT
    RETURN hashtextextended(format('pgrecall owner %s %s', current_schema(), agent), 0);

COMMENT ON FUNCTION owner_lock IS
    'Returns the key of the lock under which the row of an owner in owner_vectors is written.';

CREATE OR REPLACE FUNCTION refresh_owner(agent text) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
DECLARE
    entities text[];
    subjects text[];
BEGIN
    PERFORM require_owner(agent);
    IF pg_try_advisory_xact_lock(owner_lock(agent)) THEN
        PERFORM compute_mean(agent);
    END IF;
    SELECT u.entities, u.subjects INTO entities, subjects FROM used_names(agent) u;
    DELETE FROM entity_names n
     WHERE n.agent_id = agent
       AND (n.kind = 'entity' AND n.entity NOT IN (SELECT e FROM unnest(entities) e)
            OR n.kind = 'subject' AND n.entity NOT IN (SELECT s FROM unnest(subjects) s));
    PERFORM store_names(agent, entities, subjects);
END
$verb$;

COMMENT ON FUNCTION refresh_owner IS
    'Computes what is known of an owner''s memories as a whole again: the mean of their '
    'embeddings, and their names. Names that no memory has any more are deleted; aliases stay.';

CREATE OR REPLACE FUNCTION note_removed(agent text, removed integer) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
BEGIN
    IF removed > 0 AND EXISTS (SELECT FROM owner_vectors v
                                WHERE v.agent_id = agent AND random() * v.memories < 10 * removed)
       AND pg_try_advisory_xact_lock(owner_lock(agent)) THEN
        PERFORM compute_mean(agent);
    END IF;
END
$function$;

COMMENT ON FUNCTION note_removed IS
    'Computes the mean of the owner''s embeddings again where a tenth of them was deleted: at '
    'once, or, by chance, when so many were deleted one by one.';

CREATE OR REPLACE FUNCTION used_names(agent text, OUT entities text[], OUT subjects text[])
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET enable_seqscan = off AS $function$
BEGIN
    entities := ARRAY(SELECT DISTINCT e FROM agent_memories m, unnest(m.entities) e
                       WHERE m.agent_id = agent);
    subjects := ARRAY(SELECT DISTINCT m.subject FROM agent_memories m
                       WHERE m.agent_id = agent AND m.subject IS NOT NULL);
END
$function$;

COMMENT ON FUNCTION used_names IS
    'Returns the entities and the subjects of an owner''s memories, each once.';

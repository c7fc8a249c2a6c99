CREATE FUNCTION recall_half_life(
    agent text,
    query agent_memories.embedding%TYPE DEFAULT NULL,
    k integer DEFAULT 10,
    as_of timestamptz DEFAULT NULL,
    min_score float8 DEFAULT NULL,
    min_similarity float8 DEFAULT NULL,
    memory_types text[] DEFAULT NULL,
    tiers text[] DEFAULT NULL,
    tags text[] DEFAULT NULL,
    all_tags text[] DEFAULT NULL,
    entities text[] DEFAULT NULL,
    all_entities text[] DEFAULT NULL,
    labels text[] DEFAULT NULL,
    label_kinds text[] DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    created_after timestamptz DEFAULT NULL,
    created_before timestamptz DEFAULT NULL,
    components text[] DEFAULT NULL,
    output_types text[] DEFAULT NULL,
    domains text[] DEFAULT NULL,
    categories text[] DEFAULT NULL,
    loops text[] DEFAULT NULL,
    compliant boolean DEFAULT NULL,
    min_trust float8 DEFAULT NULL,
    statuses text[] DEFAULT '{active}',
    include_invalid boolean DEFAULT false,
    text text DEFAULT NULL,
    teams text[] DEFAULT NULL,
    query_entities text[] DEFAULT NULL,
    apply_decay boolean DEFAULT true,
    similarity_weight float8 DEFAULT 0.4,
    recency_weight float8 DEFAULT 0.3,
    importance_weight float8 DEFAULT 0.3
) RETURNS TABLE (
    agent_id text,
    id uuid,
    content text,
    memory_type text,
    created_at timestamptz,
    score float8,
    similarity float8,
    signal_similarity float8,
    signal_recency float8,
    signal_importance float8
)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $recall$
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
    owners text[] := array_prepend(agent, ARRAY(SELECT 'team:' || t FROM unnest(teams) t));
    asked tsquery := word_filter(recall_half_life.text);
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{active,consolidated,completed,archived}'::text[]
       OR NOT coalesce(tiers, '{}') <@ '{short,medium,long}'::text[] THEN
        RAISE EXCEPTION 'statuses may be active, consolidated, completed, archived, got %; '
            'tiers short, medium, long, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT coalesce(label_kinds, '{}') <@ '{keyword,tag,concept,component}'::text[]
       OR label_kinds IS NOT NULL AND labels IS NULL THEN
        RAISE EXCEPTION 'label_kinds may be keyword, tag, concept, component and need labels, got %',
            label_kinds
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ((similarity_weight = 0 OR similarity_weight >= 1e-12::float8)
        AND (recency_weight = 0 OR recency_weight >= 1e-12::float8)
        AND (importance_weight = 0 OR importance_weight >= 1e-12::float8)
        AND abs(similarity_weight + recency_weight + importance_weight - 1) <= 1e-09) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least 1e-12 and must sum to 1, '
            'they sum to %', similarity_weight + recency_weight + importance_weight
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query OPERATOR(@extschema:vector@.<=>) query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length(recall_half_life.text) > 10000 THEN
        RAISE EXCEPTION 'text may have at most 10000 characters, got %',
            length(recall_half_life.text)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF numnode(asked) = 0 THEN
        recall_half_life.text := NULL;
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
        SELECT m.agent_id, m.id,
               similarity_weight * similarity(m.embedding, query, 0.5)
               + recency_weight * recency_exponential(greatest(u.last_accessed_at, m.created_at), moment, 0.049510512897138946, 0.5)
               + importance_weight * m.importance AS score
          FROM agent_memories m
          LEFT JOIN memory_usage u
            ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
         WHERE m.agent_id = ANY (owners)
           AND (include_invalid OR is_valid(
                  m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
           AND (recall_half_life.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
           AND m.status = ANY (statuses)
           AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
                OR m.additional_types && memory_types)
           AND (tiers IS NULL OR m.tier = ANY (tiers))
           AND (recall_half_life.tags IS NULL OR m.tags && recall_half_life.tags)
           AND (all_tags IS NULL OR m.tags @> all_tags)
           AND (recall_half_life.entities IS NULL OR m.entities && recall_half_life.entities)
           AND (all_entities IS NULL OR m.entities @> all_entities)
           AND (labels IS NULL OR EXISTS (
                  SELECT FROM memory_labels l
                   WHERE l.agent_id = m.agent_id AND l.memory_id = m.id AND l.value = ANY (labels)
                     AND l.agent_id = ANY (owners)
                     AND (label_kinds IS NULL OR l.kind = ANY (label_kinds))))
           AND (recall_half_life.text IS NULL OR m.terms @@ asked)
           AND (recall_half_life.metadata IS NULL OR m.metadata @> recall_half_life.metadata)
           AND (created_after IS NULL OR m.created_at >= created_after)
           AND (created_before IS NULL OR m.created_at < created_before)
           AND (components IS NULL OR m.component = ANY (components))
           AND (output_types IS NULL OR m.output_type = ANY (output_types))
           AND (domains IS NULL OR m.domain = ANY (domains))
           AND (categories IS NULL OR m.category = ANY (categories))
           AND (loops IS NULL OR m.loop = ANY (loops))
           AND (recall_half_life.compliant IS NULL OR m.compliant = recall_half_life.compliant)
           AND (min_trust IS NULL OR m.trust IS NOT NULL AND CASE WHEN apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= min_trust)
           AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)
         ORDER BY score DESC, m.id
         LIMIT k
    )
    SELECT m.agent_id, m.id, m.content, m.memory_type, m.created_at, r.score,
           similarity(m.embedding, query, NULL),
           similarity(m.embedding, query, 0.5),
           recency_exponential(greatest(u.last_accessed_at, m.created_at), moment, 0.049510512897138946, 0.5),
           m.importance
      FROM ranked r
      JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id
      LEFT JOIN memory_usage u
        ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)
     WHERE min_score IS NULL OR r.score >= min_score
     ORDER BY r.score DESC, m.id;
END
$recall$;

COMMENT ON FUNCTION recall_half_life IS
    'The k best memories of an agent by the profile half_life: 0.4 similarity + 0.3 recency + 0.3 importance.';

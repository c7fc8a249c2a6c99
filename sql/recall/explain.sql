CREATE OR REPLACE FUNCTION explain(
    agent_id text, memory_id uuid,
    query agent_memories.embedding%TYPE DEFAULT NULL, keywords text DEFAULT NULL,
    profile text DEFAULT NULL, weights jsonb DEFAULT NULL, half_life float8 DEFAULT NULL,
    entities text[] DEFAULT NULL, period tstzrange DEFAULT NULL, teams text[] DEFAULT NULL,
    as_of timestamptz DEFAULT NULL)
    RETURNS TABLE (score float8, signals jsonb, rank bigint, ranked bigint, reasons text[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan AS $function$
#variable_conflict use_variable
DECLARE
    stored agent_memories;
    own _ranked;
    moment timestamptz := coalesce(as_of, now());
    facts jsonb := profile_facts(coalesce(profile, default_profile()));
BEGIN
    PERFORM require_owner(agent_id);
    PERFORM require_search(agent_id, query, keywords, profile, weights, half_life, entities,
                           period, teams, as_of);
    SELECT m.* INTO stored FROM agent_memories m
     WHERE m.agent_id = ANY (agents_of(agent_id, teams)) AND m.id = memory_id
     ORDER BY m.agent_id <> agent_id LIMIT 1;
    PERFORM require_found(agent_id, memory_id, FOUND);
    SELECT r.* INTO own
      FROM ranked(agent_id, query, keywords, profile, weights, half_life, entities, period, teams,
                  as_of, true) r
     WHERE r.agent_id = stored.agent_id AND r.id = memory_id;
    score := own.score;
    signals := (SELECT jsonb_object_agg(substr(s.key, 8), s.value) FROM jsonb_each(to_jsonb(own)) s
                 WHERE starts_with(s.key, 'signal_') AND s.value <> 'null');
    SELECT count(*) FILTER (WHERE r.score > own.score OR r.score = own.score AND r.id < own.id) + 1,
           count(*)
      INTO rank, ranked
      FROM ranked(agent_id, query, keywords, profile, weights, half_life, entities, period, teams,
                  as_of) r;
    reasons := array_remove(ARRAY[
        CASE WHEN stored.status <> 'active' THEN 'status is ' || stored.status END,
        CASE WHEN stored.valid_from > moment THEN 'valid only from ' || stored.valid_from END,
        CASE WHEN stored.valid_until <= moment THEN 'valid only until ' || stored.valid_until END,
        CASE WHEN stored.invalidated_at <= moment
             THEN coalesce(stored.invalidation_reason, 'invalidated') || ' at '
                  || stored.invalidated_at END,
        CASE WHEN stored.expires_at <= moment THEN 'expired at ' || stored.expires_at END,
        CASE WHEN stored.created_at > as_of
             THEN 'created after as_of, at ' || stored.created_at END,
        CASE WHEN query IS NOT NULL AND stored.embedding IS NULL
                  AND (facts -> 'requires_embedding')::boolean
             THEN 'has no embedding, which this profile requires' END], NULL);
    RETURN NEXT;
END
$function$;

COMMENT ON FUNCTION explain IS
    'Returns the score of a memory and its signals, its rank among the memories that ranked '
    'returns with the same arguments, their number, and the reasons that keep it away. A memory '
    'created after as_of, or without the embedding that the profile requires, has no score.';

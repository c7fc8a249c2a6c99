-- `seen` is the updated_at of each memory when its cluster was found. If one has changed, is gone
-- or is no longer valid, the whole cluster stays as it is.
CREATE OR REPLACE FUNCTION consolidate_memories(
    agent text, memory_ids uuid[], seen timestamptz[] DEFAULT NULL, content text DEFAULT NULL,
    embedding agent_memories.embedding%TYPE DEFAULT NULL, embedding_model text DEFAULT NULL,
    tokens integer DEFAULT NULL, actor text DEFAULT session_user)
    RETURNS TABLE (memory_id uuid, source_ids uuid[], importance float8)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $verb$
#variable_conflict use_column
DECLARE
    moment timestamptz := now();
    central agent_memories;
    new agent_memories;
    is_new boolean;
BEGIN
    PERFORM require_note(agent, actor, '{}');
    source_ids := ARRAY(
        SELECT m.id FROM agent_memories m
         WHERE m.agent_id = agent AND m.id = ANY (memory_ids) AND m.status = 'active'
           AND (seen IS NULL OR m.updated_at = seen[array_position(memory_ids, m.id)])
           AND is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment)
         ORDER BY m.id FOR NO KEY UPDATE);
    IF cardinality(source_ids) IS DISTINCT FROM cardinality(memory_ids) OR source_ids = '{}' THEN
        RETURN;
    END IF;

    SELECT m.* INTO central FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = memory_ids[1];
    IF content IS NULL THEN
        content := central.content;
        embedding := central.embedding;
        embedding_model := central.embedding_model;
        tokens := central.tokens;
    END IF;
    new := new_memory(
        content, embedding, embedding_model, memory_type => central.memory_type,
        additional_types => central.additional_types, memory_nature => central.memory_nature,
        content_type => central.content_type, tier => central.tier, subject => central.subject,
        tags => together(agent, memory_ids, 'tags'),
        entities => together(agent, memory_ids, 'entities'),
        metadata => jsonb_build_object('consolidates', cardinality(source_ids)),
        component => central.component, output_type => central.output_type,
        domain => central.domain, category => central.category, tokens => tokens);
    SELECT least(max(m.importance) + 0.1, 1), avg(m.usefulness), max(m.confidence),
           coalesce(avg(m.trust), 'NaN'), max(m.valid_from), min(m.valid_until),
           coalesce(min(m.expires_at), 'infinity'),
           CASE WHEN bool_or(NOT m.compliant) THEN false
                WHEN count(m.compliant) = count(*) THEN true END,
           bool_or(m.has_errors), bool_or(m.violates_policy),
           bool_or(m.under_policy_review)
      INTO new.importance, new.usefulness, new.confidence, new.trust, new.valid_from,
           new.valid_until, new.expires_at, new.compliant,
           new.has_errors, new.violates_policy, new.under_policy_review
      FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = ANY (source_ids);
    importance := new.importance;

    -- The sources change their status first, so that the new memory may have the text of the
    -- central one.
    PERFORM archive_memories(agent, source_ids, 'consolidated', '{}', NULL, actor, '{}');
    SELECT r.memory_id, r.outcome = 'inserted' INTO memory_id, is_new
      FROM remember_rows(agent, ARRAY[new], 'keep', NULL, false, actor) r;
    IF NOT is_new AND EXISTS (
        SELECT FROM agent_memories m
         WHERE m.agent_id = agent AND m.id = consolidate_memories.memory_id
           AND m.importance < consolidate_memories.importance) THEN
        PERFORM set_importance(agent, memory_id, importance, NULL, actor);
    END IF;
    INSERT INTO memory_links (agent_id, source_id, target_id, kind)
    SELECT agent, consolidate_memories.memory_id, source.id, 'consolidates'
      FROM unnest(source_ids) source(id)
     ORDER BY source.id
        ON CONFLICT DO NOTHING;
    RETURN NEXT;
END
$verb$;

COMMENT ON FUNCTION consolidate_memories IS
    'Stores one memory in the place of several, the most central first, with this content or else '
    'that of the central one. It is valid while all of them are, has their mean trust and '
    'usefulness and all their tags and entities, and links to them.';

CREATE OR REPLACE FUNCTION together(agent text, memory_ids uuid[], field text) RETURNS text[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN ARRAY(
        SELECT word.value FROM agent_memories m
         CROSS JOIN LATERAL unnest(CASE WHEN field = 'tags' THEN m.tags ELSE m.entities END)
                            WITH ORDINALITY word(value, place)
         WHERE m.agent_id = agent AND m.id = ANY (memory_ids)
         GROUP BY word.value ORDER BY min(ARRAY[array_position(memory_ids, m.id), word.place]));
END
$function$;

COMMENT ON FUNCTION together IS
    'Returns the tags or entities of several memories, each once, in the order of their first '
    'occurrence.';

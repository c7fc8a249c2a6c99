CREATE OR REPLACE FUNCTION link(
    agent text, source_id uuid, target_id uuid, kind text DEFAULT 'related',
    weight float8 DEFAULT 1, reason text DEFAULT NULL, actor text DEFAULT session_user,
    metadata jsonb DEFAULT '{}') RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    share float8 := storable_share(weight);
    before jsonb;
BEGIN
    PERFORM require_owner(agent);
    PERFORM require_note(link.reason, link.actor, link.metadata);
    PERFORM require_link(link.source_id, link.target_id, link.kind);
    PERFORM require_share('weight', link.weight);
    PERFORM lock_memories(agent, ARRAY[link.source_id, link.target_id]);
    SELECT jsonb_build_object('target_id', l.target_id, 'kind', l.kind, 'weight', l.weight)
      INTO before
      FROM memory_links l
     WHERE l.agent_id = agent AND l.source_id = link.source_id
       AND l.target_id = link.target_id AND l.kind = link.kind
       FOR NO KEY UPDATE;
    INSERT INTO memory_links (agent_id, source_id, target_id, kind, weight)
    VALUES (agent, link.source_id, link.target_id, link.kind, share)
        ON CONFLICT (agent_id, source_id, target_id, kind) DO UPDATE SET weight = excluded.weight;

    INSERT INTO memory_events (agent_id, memory_id, id, event_type, reason, actor,
                               old_values, new_values, metadata, occurred_at)
    VALUES (agent, link.source_id, event_id(), 'linked', link.reason, link.actor, before,
            jsonb_build_object('target_id', link.target_id, 'kind', link.kind, 'weight', share),
            link.metadata, clock_timestamp());
END
$function$;

COMMENT ON FUNCTION link IS
    'Links two memories of an owner; a link of this kind that is there takes the new weight.';

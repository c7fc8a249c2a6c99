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
    PERFORM require_note(agent, actor, metadata);
    PERFORM require_link(source_id, target_id, kind);
    PERFORM require_share('weight', weight);
    PERFORM lock_memories(agent, ARRAY[source_id, target_id]);
    SELECT jsonb_build_object('target_id', l.target_id, 'kind', l.kind, 'weight', l.weight)
      INTO before FROM memory_links l
     WHERE l.agent_id = agent AND l.source_id = link.source_id
       AND l.target_id = link.target_id AND l.kind = link.kind FOR NO KEY UPDATE;
    INSERT INTO memory_links (agent_id, source_id, target_id, kind, weight)
    VALUES (agent, link.source_id, link.target_id, link.kind, share)
        ON CONFLICT (agent_id, source_id, target_id, kind) DO UPDATE SET weight = excluded.weight;
    PERFORM log_events(agent, 'linked', ARRAY[source_id], ARRAY[before],
        ARRAY[jsonb_build_object('target_id', target_id, 'kind', kind, 'weight', share)],
        reason, actor, metadata);
END
$function$;

COMMENT ON FUNCTION link IS
    'Links two memories of an owner. A link of this kind that exists gets the new weight.';

CREATE OR REPLACE FUNCTION unlink(
    agent text, source_id uuid, target_id uuid, kind text DEFAULT 'related',
    reason text DEFAULT NULL, actor text DEFAULT session_user, metadata jsonb DEFAULT '{}')
    RETURNS boolean
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
DECLARE
    removed record;
BEGIN
    PERFORM require_note(agent, actor, metadata);
    PERFORM require_link(source_id, target_id, kind);
    DELETE FROM memory_links l
     WHERE l.agent_id = agent AND l.source_id = unlink.source_id
       AND l.target_id = unlink.target_id AND l.kind = unlink.kind
    RETURNING l.target_id, l.kind, l.weight INTO removed;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM log_events(agent, 'unlinked', ARRAY[source_id], ARRAY[to_jsonb(removed)], '{"{}"}',
        reason, actor, metadata);
    RETURN true;
END
$function$;

COMMENT ON FUNCTION unlink IS
    'Removes a link between two memories; returns true if it existed.';

CREATE OR REPLACE FUNCTION require_link(source_id uuid, target_id uuid, kind text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM require(source_id IS DISTINCT FROM target_id OR source_id IS NULL,
                    format('a link leads from one memory to another, got %s twice', source_id));
    PERFORM require(length(kind) BETWEEN 1 AND @MAX_NAME_LENGTH@, concat(
        'kind must have 1 to @MAX_NAME_LENGTH@ characters, got ', quote_nullable(left(kind, 100))));
END
$function$;

COMMENT ON FUNCTION require_link IS
    'Raises invalid_parameter_value for an invalid link.';

CREATE OR REPLACE FUNCTION successors(
    agent text, memory_id uuid, first uuid, begins timestamptz, ends timestamptz) RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH RECURSIVE chain AS (
        SELECT first AS id
         UNION
        -- A sub-select, since a join might read all memories of the owner.
        SELECT (SELECT m.superseded_by FROM agent_memories m
                 WHERE m.agent_id = agent AND m.id = chain.id)
          FROM chain
         WHERE chain.id IS NOT NULL)
    SELECT m.id FROM agent_memories m
     WHERE m.agent_id = agent AND m.id = ANY (ARRAY(SELECT chain.id FROM chain))
       AND m.id <> successors.memory_id AND m.status = 'active'
       AND overlap(m.valid_from, least(m.valid_until, m.invalidated_at), begins, ends)
     ORDER BY m.id;
END
$function$;

COMMENT ON FUNCTION successors IS
    'Returns the successors of a memory, from first on, that are valid at some time in [begins, '
    'ends).';

CREATE OR REPLACE FUNCTION supersede_in_turn(
    agent text, memory_id uuid, first uuid, valid_from timestamptz, valid_until timestamptz,
    actor text, but uuid[]) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
DECLARE
    moment timestamptz := coalesce(valid_from, now());
    -- Successors that have ended by now do not matter, unless valid_until has passed too.
    begins timestamptz := CASE WHEN valid_until <= now() THEN valid_from
                               ELSE greatest(valid_from, now()) END;
    other uuid;
BEGIN
    FOR other IN SELECT s FROM successors(agent, memory_id, first, begins, valid_until) s
                  WHERE (s = ANY (but)) IS NOT TRUE LOOP
        IF valid_until <= now() THEN
            RAISE EXCEPTION 'the text was superseded, and memory % has taken its place: both '
                'cannot be right about the time until %; supersede that one, or leave this out',
                other, valid_until
                USING ERRCODE = 'PM005';
        END IF;
        PERFORM mark_superseded(agent, other, memory_id, moment,
                                'what it superseded was said again', actor, '{}');
    END LOOP;
END
$function$;

COMMENT ON FUNCTION supersede_in_turn IS
    'Supersedes the successors of a memory, from first on, except but, when the memory is valid '
    'again after its text was superseded. Raises PM005 if its validity has passed and a successor '
    'overlaps it.';

-- Sub-select and OFFSET 0 make each row be looked up by its key: a join might read all memories of
-- the owner.
CREATE OR REPLACE FUNCTION supersede_successors(agent text, ids uuid[], actor text, but uuid[])
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM lock_same(agent, '{}', ids);
    PERFORM supersede_in_turn(
               agent, new.id, old.superseded_by, new.valid_from, new.valid_until, actor, but)
       FROM unnest(ids) i(id)
      CROSS JOIN LATERAL (SELECT m.* FROM agent_memories m
                           WHERE m.agent_id = agent AND m.id = i.id OFFSET 0) new
      CROSS JOIN LATERAL (SELECT DISTINCT m.superseded_by FROM agent_memories m
                           WHERE m.agent_id = agent AND m.content_hash = new.content_hash
                             AND m.superseded_by IS NOT NULL
                             AND same_kind(m.memory_type, m.component, m.session, m.turn,
                                           m.created_at, new.memory_type, new.component,
                                           new.session, new.turn, new.created_at)) old
      WHERE new.edition IS NOT NULL AND new.status = 'active';
END
$function$;

COMMENT ON FUNCTION supersede_successors IS
    'Supersedes the successors of earlier memories of the same text, for new active memories that '
    'have an edition, even if the successors are archived, except but.';

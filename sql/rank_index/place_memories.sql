-- For maintainers.
-- Each search scores the memories that were written or changed since written_until beside an index.
-- These functions place them in the index instead: in batches of a few hundred memories, each of
-- which is a transaction, so that nobody waits for long. Only then written_until is moved on.
CREATE OR REPLACE FUNCTION memories_beside(agent text) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    since timestamptz := (SELECT r.written_until FROM rank_indexes r WHERE r.agent_id = agent);
BEGIN
    RETURN (
        SELECT coalesce(array_agg(beside.id ORDER BY uuid_hash_extended(beside.id, 42)), '{}')
          FROM (SELECT DISTINCT unnest(b.written || b.changed) AS id
                  FROM beside_since(agent, since) b) beside);
END
$function$;

COMMENT ON FUNCTION memories_beside IS
    'Returns the memories that searches score beside the rank index of their owner, in the order '
    'in which to place them.';

-- A memory that is locked here is not deleted until its position is committed, so no position
-- outlives it. Memories that are not active any more lose their position, which would take
-- another's place among the candidates of searches.
-- Rounding alone moves a position by a few thousandths, so a move of less than a hundredth is not
-- written.
CREATE OR REPLACE FUNCTION place_memories(agent text, ids uuid[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM require_owner(agent);
    PERFORM place_memories_here(agent, ids) FROM rank_indexes r WHERE r.agent_id = agent;
END
$function$;

COMMENT ON FUNCTION place_memories IS
    'Places these memories in the rank index of their owner as they are now. Call it with the '
    'result of memories_beside after await_writers, a few hundred at a time.';

CREATE OR REPLACE FUNCTION place_memories_here(agent text, ids uuid[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
DECLARE
    index record;
    longest float8;
    gone uuid[];
    described float8;
    measured integer;
BEGIN
    PERFORM FROM agent_memories m
      WHERE m.agent_id = agent AND m.id = ANY (ids) ORDER BY m.id FOR KEY SHARE;
    SELECT r.relation, r.as_of, r.axes, usage_synced_until(r.as_of, r.built_at) AS since
      INTO index
      FROM rank_indexes r WHERE r.agent_id = agent;
    IF NOT FOUND THEN
        RETURN;
    ELSIF index.relation !~ '^ranks_[0-9a-f]{32}$' THEN
        RAISE EXCEPTION 'relation must be the table of a rank index, got %', index.relation
            USING ERRCODE = 'data_exception';
    END IF;
    PERFORM require_hnsw();
    gone := ARRAY(SELECT m.id FROM agent_memories m
                   WHERE m.agent_id = agent AND m.id = ANY (ids) AND m.status <> 'active');
    IF cardinality(gone) > 0 THEN
        PERFORM delete_positions(used_positions(index.relation), gone);
        PERFORM delete_positions(index.relation, gone);
    END IF;
    EXECUTE format($$
        SELECT 4 * (last OPERATOR(@extschema:vector@.<#>) last)
               + (signals OPERATOR(@extschema:vector@.<#>) signals)
          FROM (SELECT position, @extschema:vector@.vector_dims(position) AS length
                  FROM %1$I.%2$I LIMIT 1) p,
               @extschema:vector@.subvector(
                   position, length - @SIGNAL_AXES@ + 1, @SIGNAL_AXES@ - 1) signals,
               @extschema:vector@.subvector(position, length, 1) last $$,
        current_schema(), index.relation)
        INTO longest;
    EXECUTE format($$
        UPDATE %1$I.%2$I u SET position = new.position, bytes = new.bytes
          FROM positions_of($1, $2, $3, $4, $5) new
         WHERE u.memory_id = new.memory_id
           AND u.position OPERATOR(@extschema:vector@.<->) new.position > 0.01 $$,
        current_schema(), used_positions(index.relation))
        USING agent, index.as_of, index.axes, ids, -longest;
    EXECUTE format($$
        INSERT INTO %1$I.%2$I AS p (memory_id, position, words, bytes, placed)
        SELECT *, true FROM positions_of($1, $2, $3, $4, $5)
            ON CONFLICT (memory_id, index_id) DO UPDATE
           SET (position, words, bytes, placed)
             = (excluded.position, excluded.words, excluded.bytes, true)
         WHERE (p.words, p.bytes) IS DISTINCT FROM (excluded.words, excluded.bytes)
            OR p.position OPERATOR(@extschema:vector@.<->) excluded.position > 0.01 $$,
        current_schema(), index.relation)
        USING agent, index.as_of, index.axes, ids, -longest;
    PERFORM copy_used_positions(agent, index.relation, index.since, ids);
    described := kept_on_axes(agent, index.axes, ids);
    SELECT count(m.embedding) FILTER (WHERE m.status = 'active') INTO measured
      FROM agent_memories m WHERE m.agent_id = agent AND m.id = ANY (ids);
    UPDATE rank_indexes r
       -- As if 200 memories had been measured before.
       SET kept_since = coalesce(
               (200 * coalesce(r.kept_since, r.kept) + measured * described) / (200 + measured),
               r.kept_since)
     WHERE r.agent_id = agent AND r.relation = index.relation;
EXCEPTION WHEN undefined_table THEN  -- replaced, dropped or moved meanwhile
    PERFORM give_up_positions(agent, index.relation);
END
$function$;

COMMENT ON FUNCTION place_memories_here IS
    'Does the part of place_memories that runs on the node of the owner.';

CREATE OR REPLACE FUNCTION note_placed(agent text, built_at timestamptz, until timestamptz)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $function$
BEGIN
    UPDATE rank_indexes r SET written_until = until
     WHERE r.agent_id = agent AND r.built_at = note_placed.built_at AND r.written_until < until;
    RETURN FOUND;
END
$function$;

COMMENT ON FUNCTION note_placed IS
    'Records that the rank index that was built at this time has positions of all memories written '
    'or changed until a result of await_writers. Returns false if the index was replaced.';

-- The plan is generic, since planning for the values copies the whole batch several times.
CREATE OR REPLACE FUNCTION insert_memories(
    agent text, memories agent_memories[], ids uuid[], by_text boolean, actor text,
    metadata jsonb, editions integer[] DEFAULT NULL) RETURNS uuid[]
    LANGUAGE plpgsql SET search_path FROM CURRENT SET work_mem = '64MB'
    SET plan_cache_mode = force_generic_plan AS $function$
#variable_conflict use_column
DECLARE
    stored uuid[] := '{}';
    trusts jsonb[] := '{}';
    -- Edition 0 is for a text that does not exist at all, not even under a key.
    numbers integer[] := CASE WHEN editions IS NOT NULL THEN ARRAY(
        SELECT greatest(editions[said.place], 1) - 1
               + row_number() OVER (PARTITION BY said.hash ORDER BY said.place)
          FROM (SELECT m.ordinality AS place, content_hash(m.content) AS hash
                  FROM unnest(memories) WITH ORDINALITY m) said
         ORDER BY said.place) END;
    one record;
BEGIN
    -- Texts are inserted in the order of their hashes, and memories with a key in that of their
    -- ids, so that two batches that share texts or keys wait for each other and cannot deadlock.
    -- The unique index on text and edition decides which of two writers inserts.
    FOR one IN
        INSERT INTO agent_memories AS i (
            agent_id, id, key, @columns@,
            @state but edition@, edition)
        SELECT agent, m.id, m.key, @columns: m.{}@,
               @state but edition: m.{}@,
               coalesce(CASE WHEN m.edition = 0
                             THEN numbers[date_part('epoch', m.inserted_at)::integer] END,
                        m.edition)
          FROM with_defaults(agent, memories, ids, CASE WHEN by_text THEN 0 END) m
         -- A pending memory is compared with other texts when it is approved.
         WHERE m.edition IS NULL OR editions IS NOT NULL OR m.status = 'pending'
            OR NOT is_said(agent, m.content_hash)
         ORDER BY CASE WHEN m.key IS NULL THEN m.content_hash END,
                  CASE WHEN m.key IS NOT NULL THEN m.id END, m.inserted_at
            ON CONFLICT DO NOTHING
        RETURNING i.id, i.trust, i.trust_provenance AS provenance, i.trust_consensus AS consensus,
                  i.trust_governance AS governance, i.trust_usage AS usage LOOP
        stored := stored || one.id;
        trusts := trusts || trust_parts(
            one.trust, one.provenance, one.consensus, one.governance, one.usage);
    END LOOP;
    PERFORM log_events(agent, 'initial', stored, '{}', trusts, NULL, actor, metadata);
    IF stored <> '{}' THEN
        PERFORM note_written(agent, memories);
    END IF;
    RETURN stored;
END
$function$;

COMMENT ON FUNCTION insert_memories IS
    'Inserts memories with these ids, and their first events; returns the ids inserted. by_text: '
    'whether memories without a key are identified by their text. editions: the next_edition of '
    'each text, read before the caller looked for the same memory; without them, texts that exist '
    'are skipped. Skips ids and editions that exist.';

-- This is a function of its own, so that the setting reaches nothing else: a plan made while the
-- table was nearly empty would read all of it for each memory.
CREATE OR REPLACE FUNCTION is_said(agent text, hash bytea) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
    RETURN EXISTS (SELECT FROM agent_memories m
                    WHERE m.agent_id = agent AND m.content_hash = hash AND m.status = 'active');
END
$function$;

COMMENT ON FUNCTION is_said IS
    'Returns true if an active memory of the owner has the text with this hash.';

-- Memories are locked in the order of the key, so that verbs that need several cannot deadlock.
-- Values that the transaction reads later stay the same until it ends.
CREATE OR REPLACE FUNCTION lock_memories(agent text, memory_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
DECLARE
    locked uuid[] := ARRAY(
        SELECT m.id FROM agent_memories m
         WHERE m.agent_id = agent AND m.id = ANY (memory_ids) ORDER BY m.id FOR NO KEY UPDATE);
BEGIN
    PERFORM require_found(agent, i.id, i.id = ANY (locked))
       FROM (SELECT id FROM unnest(memory_ids) id ORDER BY id) i;
END
$function$;

COMMENT ON FUNCTION lock_memories IS
    'Locks memories of one owner until the transaction ends; raises PM003 if one does not exist.';

CREATE OR REPLACE FUNCTION remember(
    agent text, content text, embedding agent_memories.embedding%TYPE DEFAULT NULL,
    embedding_model text DEFAULT NULL, id uuid DEFAULT NULL, key text DEFAULT NULL,
    @new but content, embedding, embedding_model, id, key: {} {type} DEFAULT NULL@,
    duplicates text DEFAULT 'bump', near_duplicates float8 DEFAULT NULL,
    check_compliance boolean DEFAULT true, actor text DEFAULT session_user,
    supersede_subject boolean DEFAULT false, run text DEFAULT NULL)
    RETURNS TABLE (
        ordinal integer, memory_id uuid, outcome text, similarity float8, same_subject uuid[])
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT r.ordinal, r.memory_id, r.outcome, r.similarity, r.same_subject FROM remember_rows(
        agent, ARRAY[new_memory(@new: {} => {}@)],
        duplicates, near_duplicates, check_compliance, actor,
        supersede_subject, run) r;
END
$function$;

COMMENT ON FUNCTION remember IS
    'Stores one memory, unless the same memory exists already; see remember_rows and new_memory.';

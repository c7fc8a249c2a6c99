CREATE OR REPLACE FUNCTION claim_embedding_model(model text) RETURNS text
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
DECLARE
    found_model text;
BEGIN
    SELECT e.model INTO found_model FROM embedding_model e;
    -- It does not wait for another transaction that claims it now, which may take long to commit.
    IF found_model IS NULL
       AND pg_try_advisory_xact_lock(hashtextextended('@extschema@.embedding_model', 8741)) THEN
        INSERT INTO embedding_model (model) VALUES (claim_embedding_model.model)
            ON CONFLICT DO NOTHING;
        SELECT e.model INTO found_model FROM embedding_model e;
    END IF;
    RETURN found_model;
END
$function$;

COMMENT ON FUNCTION claim_embedding_model IS
    'Records the model that makes the embeddings, unless one is recorded. Returns the recorded '
    'one, or NULL while another transaction records it.';

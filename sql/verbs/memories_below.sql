-- Memories that do not hold any more are scored like others: pruning is for them, too.
CREATE OR REPLACE FUNCTION memories_below(agent text, below_score float8, profile text)
    RETURNS uuid[]
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
BEGIN
    RETURN ARRAY(
        SELECT r.id
          FROM recall(agent, profile => memories_below.profile, k => 1000000,
                      include_invalid => true, strategy => 'exact') r
         WHERE r.score < below_score);
END
$function$;

COMMENT ON FUNCTION memories_below IS
    'The active memories of an owner that score less by a profile, without a query.';

-- The rest of an embedding, which positions know by its length alone, adds no more than the product
-- of two such lengths. So an inner product with a direction that counts all of it is a bound. The
-- bound also has what place_memories does not write, a hundredth. A similarity below 0 counts as 0.
CREATE OR REPLACE FUNCTION positions_above(
    relation text, query @extschema:vector@.halfvec, at_least float8, agent text DEFAULT NULL,
    terms text[] DEFAULT '{}', weights float8[] DEFAULT '{}', keyword_weight float8 DEFAULT 0,
    b float8 DEFAULT 0, pivot float8 DEFAULT 1)
    RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $function$
DECLARE
    asked @extschema:vector@.halfvec := meaning(query);
    keys bigint[];
    shares float8[];
    found uuid[];
BEGIN
    SELECT array_agg(term_key(agent, t.term)), array_agg(t.share) INTO keys, shares
      FROM (SELECT a.term, a.weight / nullif(sum(a.weight) OVER (), 0) AS share
              FROM unnest(terms, weights) a(term, weight)) t;
    EXECUTE format($$
        SELECT coalesce(array_agg(p.memory_id), '{}')
          FROM %I p
         CROSS JOIN LATERAL (
            SELECT greatest(-(p.position OPERATOR(@extschema:vector@.<#>) $1), 0)
                   - (p.position OPERATOR(@extschema:vector@.<#>) $2) AS bound
            OFFSET 0) its
         WHERE CASE WHEN bound >= $3 THEN true
                    WHEN bound >= $3 - $6 AND p.words && $4  -- an overlap takes a microsecond
                    THEN bound + $6 * (
                       SELECT keyword(sum(share), p.bytes, $7, $8) FROM unnest(p.words) had(key)
                         JOIN unnest($4, $5) asked(key, share) USING (key)) >= $3
               END $$, relation)
        INTO found
        USING asked, query OPERATOR(@extschema:vector@.-) asked,
              at_least - 0.01 * @extschema:vector@.l2_norm(query),
              coalesce(keys, '{}'), shares, keyword_weight, b, pivot;
    RETURN found;
END
$function$;

COMMENT ON FUNCTION positions_above IS
    'Returns all memories of a table of positions whose score might be as high as at_least, with '
    'their words, by a direction that counts the whole rest of embeddings.';

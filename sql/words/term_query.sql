CREATE OR REPLACE FUNCTION term_query(terms text[]) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT string_agg(
               '''' || replace(replace(term, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
      FROM unnest(terms) term;
END;

COMMENT ON FUNCTION term_query IS
    'Returns a tsquery that matches any of these terms, taken literally.';
